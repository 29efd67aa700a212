import BlobProtocol
import TestSupport
import Testing

/// Bodies of publishes over HTTP; what comes of them is in the table `publishing.txt`.
@Suite(.waiting) struct PublishTests {
    let daemon: DaemonProcess

    init() throws {
        daemon = try DaemonProcess()
    }

    @Test("A body in chunks is put together again, however it is cut")
    func chunked() throws {
        let client = try daemon.connect()
        var random = SeededGenerator(seed: 5)
        let body = random.bytes(100_000)
        client.send(
            "PUT /v1/notifications/c/payload HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        var rest = body[...]
        var size = 1
        while !rest.isEmpty {
            let piece = rest.prefix(size)
            rest = rest.dropFirst(size)
            client.send("\(String(piece.count, radix: 16));ext=1\r\n")
            client.send(Array(piece) + Array("\r\n".utf8))
            size = size * 3 + 1
        }
        client.send("0\r\nTrailer: x\r\n\r\n")
        #expect(try client.answer().status == 201)
        #expect(try client.request("GET", "/v1/notifications/c/payload").body == body)
    }

    @Test("100 Continue comes when the head is good, and the error at once when it is not")
    func expectContinue() throws {
        let client = try daemon.connect()
        client.send(
            "PUT /v1/notifications/e/payload HTTP/1.1\r\nHost: b\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"
        )
        #expect(try client.answer().status == 100)
        client.send("abc")
        #expect(try client.answer().status == 201)
        client.send(
            "PUT /v1/notifications/e/payload?ttl=0 HTTP/1.1\r\nHost: b\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"
        )
        let refused = try client.answer()
        #expect(refused.status == 400 && refused.code == "bad_ttl")
        #expect(refused["Connection"] == "close")
        #expect(try client.isClosed())
        let other = try daemon.connect()
        other.send("PUT /v1/notifications/e/payload HTTP/1.1\r\nHost: b\r\nExpect: x\r\n\r\n")
        #expect(try other.answer().status == 417)
        // A condition that cannot hold. Until the payload is committed the transaction decides, and the body is asked for.
        let late = try daemon.connect()
        #expect(try late.request("GET", "/v1/notifications/e/payload").status == 200)
        late.send(
            "PUT /v1/notifications/e/payload HTTP/1.1\r\nHost: b\r\nExpect: 100-continue\r\nIf-None-Match: *\r\nContent-Length: 5\r\n\r\n"
        )
        #expect(try late.answer().status == 412)
        #expect(try late.isClosed())
        // Documents are like payloads.
        let json = "Host: b\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
        let documents = try daemon.connect()
        documents.send("PUT /v1/notifications/x HTTP/1.1\r\n\(json)Content-Length: 10\r\n\r\n")
        #expect(try documents.answer().status == 100)
        documents.send(#"{"data":1}"#)
        #expect(try documents.answer().status == 201)
        documents.send(
            "PUT /v1/notifications/x HTTP/1.1\r\n\(json)Content-Length: 65537\r\n\r\n")
        let tooLong = try documents.answer()
        #expect(tooLong.code == "payload_too_large" && tooLong.member("limit") == "65536")
        #expect(try documents.isClosed())
    }

    @Test("A body over the limit is refused before it is read")
    func tooLarge() throws {
        let daemon = try DaemonProcess(["--max-payload", "1000"])
        let client = try daemon.connect()
        client.send(
            "PUT /v1/notifications/e/payload HTTP/1.1\r\nHost: b\r\nContent-Length: 1001\r\n\r\n")
        let answer = try client.answer()
        #expect(answer.status == 413 && answer.code == "payload_too_large")
        #expect(answer.member("limit") == "1000")
        #expect(try client.isClosed())
        #expect(try daemon.put("e", [UInt8](repeating: 0, count: 1_000)).status == 201)
        let chunks = try daemon.connect()
        chunks.send(
            "PUT /v1/notifications/e/payload HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n"
        )
        chunks.send([UInt8](repeating: 0, count: 1_001))
        #expect(try chunks.answer().status == 413)
        let sized = try daemon.connectBinary()
        let draft = Put.Draft(id: "e")
        let frame = try sized.exchange(try putFrame(draft, body: .init(repeating: 0, count: 1_001)))
        #expect(frame.status == 413 && frame.code == "payload_too_large")
        #expect(try daemon.request("GET", "/v1/notifications/e").member("byte_count") == "1000")
    }

    @Test("A client that goes half way leaves nothing behind")
    func halfWay() throws {
        let head =
            "PUT /v1/notifications/h/payload HTTP/1.1\r\nHost: b\r\nContent-Length: 500000\r\n\r\n"
        do {
            let gone = try daemon.connect()
            gone.send(Array(head.utf8) + [UInt8](repeating: 7, count: 300_000))
            try daemon.waitUntil("body_memory_bytes") { $0 > 0 }
        }
        try daemon.waitUntil("body_memory_bytes") { $0 == 0 }
        // One that only stops sending is told.
        let silent = try daemon.connect()
        silent.send(Array(head.utf8) + [UInt8](repeating: 7, count: 300_000))
        silent.endSending()
        let answer = try silent.answer()
        #expect(answer.status == 400 && answer.code == "body_mismatch")
        #expect(try daemon.request("GET", "/v1/notifications/h").status == 404)
        #expect(try daemon.statistic("blobs") == 0)
    }
}
