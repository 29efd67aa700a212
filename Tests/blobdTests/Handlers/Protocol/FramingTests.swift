import BlobProtocol
import Testing

/// Where requests begin and end, and whom they are for: what could be read in two ways is refused.
@Suite(.waiting) struct FramingTests {
    let daemon: DaemonProcess

    init() throws {
        daemon = try OneDaemon.daemon()
    }

    private static let chunked =
        "PUT /v1/notifications/x/payload HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\n"

    // The daemon waited for bytes that it would not have taken.
    @Test(
        "A chunk over the limit is 413 as soon as its size says so",
        .oneDaemon,
        arguments: [
            "4000001", "FFFFFFFFFFFFFFFF", "4000001;x=y", "3FFFFF1\r", "1\r\nx\r\n4000000\r\n",
        ])
    func chunkSize(size: String) throws {
        let client = try daemon.connect()
        let isMore = size.hasPrefix("3FFFFF1")
        client.send(Self.chunked + size)
        if isMore {
            // This one is allowed: its bytes are taken.
            client.send("\n")
            client.send([UInt8](repeating: 1, count: 10_000))
            try daemon.waitUntil("body_memory_bytes") { $0 >= 10_000 }
            #expect(!client.waitForInput(milliseconds: 0))
            return
        }
        let answer = try client.answer()
        #expect(answer.status == 413 && answer.code == "payload_too_large", "\(size)")
        #expect(answer.member("limit") == "67108864" && answer["Connection"] == "close")
        #expect(try daemon.statistic("notifications") == 0)
    }

    @Test("The absolute form of http is served")
    func absoluteForm() throws {
        let client = try daemon.connect()
        client.send("GET http://[::1]:80/healthz HTTP/1.1\r\nHost: b\r\n\r\n")
        #expect(try client.answer().status == 200)
        client.send("GET // HTTP/1.1\r\nHost:\r\n\r\n")
        #expect(try client.answer().status == 404)
    }

    // A PUT without a length stored nothing over what was there.
    @Test("A payload, a part or a blob without a length is 411, and leaves what is there")
    func length() throws {
        let digest = PayloadDigestText.of([])
        let kept: [UInt8] = [1, 2, 3]
        let client = try daemon.connect()
        #expect(try client.put("x", kept, query: "?message=m").status == 201)
        #expect(try client.request("PUT", "/v1/notifications/x/parts/p", body: kept).status < 300)
        let revision = try daemon.statistic("revision")
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
        #expect(try daemon.statistic("revision") == revision)
        #expect(try daemon.request("GET", "/v1/notifications/x/payload").body == kept)
        // An empty payload is one with a length, or without chunks.
        #expect(try daemon.put("x", []).status == 200)
        #expect(try daemon.request("GET", "/v1/notifications/x/payload").body.isEmpty)
        #expect(try daemon.put("x", kept).status == 200)
        client.send("\(Self.chunked)0\r\n\r\n")
        #expect(try client.answer().status == 200)
        #expect(try daemon.request("GET", "/v1/notifications/x/payload").body.isEmpty)
        let empty = try daemon.request("POST", "/v1/blobs", body: [])
        #expect(empty.status == 200 && empty.member("digest") == "sha256:\(digest)")
    }

    @Test("415 says what is taken")
    func accepted() throws {
        let client = try daemon.connect()
        let patch = try client.request(
            "PATCH", "/v1/notifications/x", ["Content-Type": "text/plain"], body: [1])
        #expect(patch.status == 415)
        #expect(patch["Accept-Patch"] == "application/merge-patch+json, application/json")
        let group = try client.request(
            "PATCH", "/v1/users/u/notifications?group=g", ["Content-Type": "image/png"], body: [1])
        #expect(group.status == 415 && group["Accept-Patch"] == patch["Accept-Patch"])
        let put = try client.request(
            "PUT", "/v1/notifications/x", ["Content-Type": "image/png"], body: [1])
        #expect(put.status == 415 && put["Accept"] == "application/json, multipart/form-data")
        #expect(put["Accept-Patch"] == nil && put["Accept-Encoding"] == nil)
        let category = try client.request(
            "PUT", "/v1/categories/c", ["Content-Type": "image/png"], body: [1])
        #expect(category.status == 415 && category["Accept"] == "application/json")
    }

    // `q/../../api/…` was an owner: a proxy that looks at the decoded path allowed another one.
    @Test("Dot segments in a path are refused, however they are written")
    func dotSegments() throws {
        for (path, code) in [
            ("/v1/users/q%2F..%2F..%2F..%2Fapi%2Fnotifications%2Fz/changes", "bad_owner"),
            ("/v1/users/../changes", "bad_owner"), ("/v1/users/%2e%2E/changes", "bad_owner"),
            ("/v1/users/./notifications", "bad_owner"),
            ("/v1/users/a%2F./notifications", "bad_owner"),
            ("/v1/users/%2F../notifications", "bad_owner"), ("/v1/notifications/..", "bad_id"),
            ("/v1/notifications/../payload", "bad_id"), ("/v1/notifications/%2e/payload", "bad_id"),
            ("/v1/notifications/../envelope?platform=apns", "bad_id"),
            ("/api/notifications/..", "bad_id"), ("/api/notifications/%2E%2E", "bad_id"),
            ("/v1/notifications/x/parts/..", "bad_part"),
            ("/v1/notifications/x/parts/%2e", "bad_part"), ("/v1/categories/..", "bad_category"),
        ] {
            let answer = try daemon.request("GET", path)
            #expect(answer.status == 400 && answer.code == code, "\(path): \(answer.text)")
            if !path.contains("/payload"), !path.contains("/api/"), !path.contains("/parts/") {
                let call = try ResourceClient(.call, daemon).perform(ResourceCall(.get, path))
                #expect(call.status == 400 && call.code == code, "call \(path): \(call.text)")
            }
        }
        #expect(try daemon.put("..", [1]).code == "bad_id")
        #expect(try daemon.put("x", [1], query: "?owner=a/../b").code == "bad_owner")
        let document = try daemon.request(
            "POST", "/v1/notifications", ["Content-Type": "application/json"],
            body: Array(#"{"id":"..","title":"t"}"#.utf8))
        #expect(document.status == 400 && document.code == "bad_id", "\(document.text)")
        let lines = try daemon.request(
            "POST", "/v1/notifications:batch", ["Content-Type": "application/x-ndjson"],
            body: Array("{\"id\":\".\",\"title\":\"t\"}\n".utf8))
        #expect(lines.text.contains("bad_id"), "\(lines.text)")
        for id in ["...", "..a", "%252e%252e", "a..b"] {
            #expect(try daemon.put(id, [1]).status == 201, "\(id)")
            #expect(try daemon.request("GET", "/v1/notifications/\(id)/payload").body == [1])
        }
        #expect(try daemon.request("GET", "/v1/users/a%2Fb/changes").status == 200)
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
        #expect(try daemon.statistic("watchers") == 0)
        let page = try client.request(
            "GET", "/v1/users/ann/changes", ["Accept": "text/event-stream;q=0"])
        #expect(page["Content-Type"] == "application/json" && page.text.contains("published"))
    }
}
