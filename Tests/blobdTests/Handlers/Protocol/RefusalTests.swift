import BlobProtocol
import TestSupport
import Testing

/// Bad input: refused before anything changes, with what was wrong, its value and the limit.
@Suite(.waiting) struct RefusalTests {
    let daemon: DaemonProcess

    init() throws {
        daemon = try OneDaemon.daemon()
    }

    @Test(
        "Bad ids and names",
        .oneDaemon,
        arguments: [
            (String(repeating: "a", count: 256), "bad_id"), ("a%00b", "bad_id"),
            ("a%0Ab", "bad_id"), ("a%2Fb", "bad_id"), ("%FF", "bad_id"), ("%C3%28", "bad_id"),
            ("%7F", "bad_id"), ("%C2%85", "bad_id"), ("a%2", "bad_id"), ("a%zz", "bad_id"),
        ])
    func ids(_ id: String, _ code: String) throws {
        for method in ["GET", "PUT"] {
            let answer = try daemon.request(
                method, "/v1/notifications/\(id)/payload", body: method == "PUT" ? [1] : nil)
            #expect(answer.status == 400 && answer.code == code, "\(method): \(answer.text)")
        }
        let part = try daemon.request(
            "PUT", "/v1/notifications/a/parts/\(id)", body: [1])
        #expect(part.status == 400 && part.code == "bad_part", "\(part.text)")
        #expect(try daemon.statistic("notifications") == 0)
    }

    @Test("The longest id is taken")
    func longest() throws {
        let id = String(repeating: "é", count: 127) + "x"
        #expect(id.utf8.count == 255)
        let path = String(repeating: "%C3%A9", count: 127) + "x"
        #expect(try daemon.put(path, [1]).status == 201)
        #expect(try daemon.request("GET", "/api/notifications/\(path)").body == [1])
    }

    @Test(
        "Bad lifetimes and queries",
        .oneDaemon,
        arguments: [
            ("ttl=0", "bad_ttl"), ("ttl=-1", "bad_ttl"), ("ttl=1.5", "bad_ttl"),
            ("ttl=", "bad_ttl"), ("ttl=abc", "bad_ttl"), ("ttl=2592001", "bad_ttl"),
            ("ttl=99999999999999999999", "bad_ttl"), ("ttl=9223372036854775807", "bad_ttl"),
            ("ttl=60&expires_at=2026-12-01T00:00:00Z", "bad_expiry"),
            ("expires_at=2001-01-01T00:00:00Z", "bad_expiry"),
            ("expires_at=9999-12-31T23:59:59Z", "bad_expiry"),
            ("expires_at=tomorrow", "bad_expiry"), ("ttl=1&ttl=2", "bad_query"),
            ("colour=red", "bad_query"), ("message=%zz", "bad_query"),
            ("message=a%00b", "bad_message"), ("owner=%07", "bad_owner"),
            ("rich_type=%FF", "bad_rich_type"),
        ])
    func queries(_ query: String, _ code: String) throws {
        let answer = try daemon.put("q", [1], query: "?\(query)")
        #expect(answer.status == 400 && answer.code == code, "\(answer.text)")
        #expect(try daemon.request("GET", "/v1/notifications/q").status == 404)
    }

    @Test("A lifetime over the maximum is refused with the value and the limit")
    func words() throws {
        let answer = try daemon.put("q", [1], query: "?ttl=2592001")
        #expect(answer.text.contains("2592001") && answer.member("limit") == "2592000")
        #expect(try daemon.put("q", [1], query: "?ttl=2592000").status == 201)
    }

    @Test("Bad media types and codings")
    func mediaTypes() throws {
        let client = try daemon.connect()
        for type in [
            "", "image", "image/", "a/b c", "a/b; x", "/b", String(repeating: "a", count: 300),
        ] {
            let answer = try client.put("m", [1], type: type)
            #expect(answer.status == 400 && answer.code == "bad_media_type", "\(type)")
        }
        let coded = try client.request(
            "PUT", "/v1/notifications/m/payload", ["Content-Encoding": "br"], body: [1])
        #expect(coded.status == 415)
        #expect(try client.put("m", [1], type: "text/plain; charset=utf-8").status == 201)
    }

    @Test(
        "Whatever makes a request's end doubtful ends the connection",
        .oneDaemon,
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
        #expect(try daemon.statistic("notifications") == 0)
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
