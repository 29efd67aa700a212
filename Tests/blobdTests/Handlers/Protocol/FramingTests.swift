import BlobProtocol
import Testing

/// Where requests begin and end, and whom they are for: what could be read in two ways is refused.
@Suite(.waiting, .oneDaemon) struct FramingTests {
    let daemon: DaemonProcess

    init() throws {
        daemon = try OneDaemon.daemon()
    }

    private static let chunked =
        "PUT /v1/notifications/chunk/payload HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\n"

    // The daemon waited for bytes that it would not have taken.
    @Test(
        "A chunk over the limit is 413 as soon as its size says so",
        arguments: [
            "4000001", "FFFFFFFFFFFFFFFF", "4000001;x=y", "1\r\nx\r\n4000000\r\n",
        ])
    func chunkSize(size: String) throws {
        let client = try daemon.connect()
        client.send(Self.chunked + size)
        let answer = try client.answer()
        #expect(answer.status == 413 && answer.code == "payload_too_large", "\(size)")
        #expect(answer.member("limit") == "67108864" && answer["Connection"] == "close")
        #expect(try daemon.request("GET", "/v1/notifications/chunk").status == 404)
    }

    @Test("The absolute form of http is served")
    func absoluteForm() throws {
        let client = try daemon.connect()
        client.send("GET http://[::1]:80/healthz HTTP/1.1\r\nHost: b\r\n\r\n")
        #expect(try client.answer().status == 200)
        client.send("GET // HTTP/1.1\r\nHost:\r\n\r\n")
        #expect(try client.answer().status == 404)
        // A field that says who makes the change, twice.
        client.send(
            "DELETE /v1/notifications/n HTTP/1.1\r\nHost: b\r\nBlobd-Device: a\r\nBlobd-Device: a\r\n\r\n"
        )
        #expect(try client.answer().code == "malformed")
    }

    // A PUT without a length stored nothing over what was there.
    @Test("A payload, a part or a blob without a length is 411, and leaves what is there")
    func length() throws {
        let digest = PayloadDigestText.of([])
        let kept: [UInt8] = [1, 2, 3]
        let client = try daemon.connect()
        #expect(try client.put("x", kept, query: "?message=m").status == 201)
        #expect(try client.request("PUT", "/v1/notifications/x/parts/p", body: kept).status < 300)
        let record = try client.request("GET", "/v1/notifications/x").text
        for version in ["1.1", "1.0"] {
            for line in [
                "PUT /v1/notifications/x/payload", "PUT /v1/notifications/x/payload?ttl=60",
                "PUT /v1/notifications/x/parts/p", "PUT /v1/notifications/new/payload",
                "POST /v1/notifications", "POST /v1/notifications?owner=ann",
                "PUT /v1/blobs/sha256:\(digest)", "POST /v1/blobs",
            ] {
                let client = try daemon.connect()
                client.send("\(line) HTTP/\(version)\r\nHost: b\r\n\r\n")
                let answer = try client.answer()
                #expect(answer.status == 411 && answer.code == "length_required", "\(line)")
                // It had no body, so the next request is known.
                if version == "1.1" {
                    #expect(try client.request("GET", "/healthz").status == 200)
                }
            }
        }
        #expect(try client.request("GET", "/v1/notifications/x").text == record)
        #expect(try client.request("GET", "/v1/notifications/new").status == 404)
        #expect(try daemon.request("GET", "/v1/notifications/x/payload").body == kept)
        // An empty payload is one with a length, or without chunks.
        #expect(try daemon.put("x", []).status == 200)
        #expect(try daemon.request("GET", "/v1/notifications/x/payload").body.isEmpty)
        #expect(try daemon.put("x", kept).status == 200)
        client.send("\(Self.chunked.replacing("chunk/", with: "x/"))0\r\n\r\n")
        #expect(try client.answer().status == 200)
        #expect(try daemon.request("GET", "/v1/notifications/x/payload").body.isEmpty)
    }

    // A HEAD got the events, and the connection with them.
    @Test("HEAD of a stream of events is a head, and the connection goes on")
    func eventStreamHead() throws {
        try daemon.put("1", [1], query: "?owner=ann")
        let client = try daemon.connect()
        let head = try client.request(
            "HEAD", "/v1/users/ann/changes", ["Accept": "text/event-stream"])
        #expect(head.status == 200 && head["Content-Type"] == "text/event-stream")
        #expect(head["Content-Length"] == nil && head["Cache-Control"] == "no-store")
        #expect(try client.request("GET", "/healthz").text == "ok\n")
        let bad = try client.request(
            "HEAD", "/v1/users/ann/changes?since=x", ["Accept": "text/event-stream"])
        #expect(bad.status == 400)
        let page = try client.request(
            "GET", "/v1/users/ann/changes", ["Accept": "text/event-stream;q=0"])
        #expect(page["Content-Type"] == "application/json" && page.text.contains("published"))
    }
}
