import BlobProtocol
import TestSupport
import Testing

/// What is wrong with a request as bytes; the rest is in the table `refused.txt`.
@Suite(.waiting, .oneDaemon) struct RefusalTests {
    let daemon: DaemonProcess

    init() throws {
        daemon = try OneDaemon.daemon()
    }

    @Test(
        "Whatever makes a request's end doubtful ends the connection",
        arguments: [
            (
                "PUT /v1/notifications/1/payload HTTP/1.1\r\nHost: b\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
                400
            ),
            (
                "PUT /v1/notifications/1/payload HTTP/1.1\r\nHost: b\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nx",
                400
            ),
            (
                "PUT /v1/notifications/1/payload HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: gzip\r\n\r\n",
                501
            ),
            (
                "PUT /v1/notifications/1/payload HTTP/1.1\r\nHost: b\r\nContent-Length: -1\r\n\r\n",
                400
            ),
            (
                "PUT /v1/notifications/1/payload HTTP/1.1\r\nHost: b\r\nContent-Length: 99999999999999999999\r\n\r\n",
                413
            ),
            (
                "PUT /v1/notifications/1/payload HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                400
            ),
            ("GET /healthz HTTP/1.1\r\n\r\n", 400),
            ("GET /healthz HTTP/2.0\r\nHost: b\r\n\r\n", 505),
            ("GET  /healthz HTTP/1.1\r\nHost: b\r\n\r\n", 400),
            ("GET /healthz HTTP/1.1\nHost: b\n\n", 400), ("G\u{7F}T / HTTP/1.1\r\n\r\n", 400),
            ("hello\r\n\r\n", 400), ("\u{1}\u{2}", 400),
        ])
    func doubtful(_ request: String, _ status: Int) throws {
        let client = try daemon.connect()
        client.send(request)
        let answer = try client.answer()
        #expect(answer.status == status)
        #expect(answer["Connection"] == "close")
        #expect(try client.isClosed())
        #expect(try daemon.request("GET", "/v1/notifications/1").status == 404)
    }

    @Test("A request line over 8 KiB is 414, a header section over 16 KiB 431")
    func longHeads() throws {
        let line = try daemon.connect()
        line.send("GET /" + String(repeating: "a", count: 9_000))
        #expect(try line.answer().status == 414)
        let section = try daemon.connect()
        section.send("GET /healthz HTTP/1.1\r\nHost: b\r\n")
        for number in 0..<20 {
            section.send("X-\(number): \(String(repeating: "b", count: 1_000))\r\n")
        }
        #expect(try section.answer().status == 431)
    }

    @Test("A refused body is skipped when it is short, and the connection goes on")
    func skipped() throws {
        let client = try daemon.connect()
        let refused = try client.put("s", .init(repeating: 1, count: 10_000), query: "?ttl=0")
        #expect(refused.status == 400 && refused["Connection"] == nil)
        #expect(try client.put("s", [1]).status == 201)
        #expect(try client.request("GET", "/v1/notifications/s", body: [1, 2, 3]).status == 200)
        let long = try client.put("s", .init(repeating: 1, count: 100_000), query: "?ttl=0")
        #expect(long.status == 400 && long["Connection"] == "close")
        #expect(try client.isClosed())
    }

    @Test("The binary protocol refuses the same, and goes on behind the body")
    func binary() throws {
        let client = try daemon.connectBinary()
        let drafts = [
            (Put.Draft(id: "b", ttlSeconds: 2_592_001), "bad_ttl"),
            (Put.Draft(id: "b", expiryMilliseconds: 1_000), "bad_expiry"),
        ]
        for (draft, code) in drafts {
            let answer = try client.exchange(
                try putFrame(draft, body: .init(repeating: 1, count: 100_000)))
            #expect(answer.status == 400 && answer.code == code)
        }
        #expect(try client.exchange(try getFrame("b")).status == 404)
        let unknown: [UInt8] =
            [0xB1, 77] + .init(repeating: 0, count: 14) + [3] + .init(repeating: 0, count: 7)
        let answer = try client.exchange(unknown + [1, 2, 3])
        #expect(answer.status == 405 && answer.frame.opcode == 77)
        #expect(try client.exchange(frame(.ping, body: [9])).body == [9])
    }

    @Test("Before hello nothing is answered; after it no second one")
    func hello() throws {
        for bytes in [try getFrame("a"), helloFrame + helloFrame] {
            let client = try daemon.connect()
            client.send(bytes)
            var answer = try client.frameAnswer()
            if answer.status == 200 { answer = try client.frameAnswer() }
            #expect(answer.status == 400 && answer.code == "malformed")
            #expect(try client.isClosed())
        }
    }

    @Test("A reserved field in use ends the connection")
    func reserved() throws {
        let client = try daemon.connectBinary()
        var bytes = try getFrame("a")
        bytes[12] = 1
        let answer = try client.exchange(bytes)
        #expect(answer.status == 400 && answer.code == "reserved")
        #expect(try client.isClosed())
    }
}
