import BlobClient
import BlobProtocol
import TestSupport
import Testing

/// Uploads in `Content-Encoding: gzip`: what is inside is stored, and counts.
@Suite(.waiting) struct CodedUploadTests {
    private static let gzip = ["Content-Encoding": "gzip", "Content-Type": "application/x-tar"]

    @Test("A payload, a part and a blob are stored as sent, and served as they were and as given")
    func asSent() throws {
        let daemon = try DaemonProcess()
        let bytes = shrinkingText(800)
        let coded = gzipped(bytes)
        let digest = PayloadDigestText.of(bytes)
        let client = try daemon.connect()
        for (method, target) in [
            ("PUT", "/v1/notifications/a/payload"), ("PUT", "/v1/notifications/a/parts/b"),
            ("POST", "/v1/notifications"), ("PUT", "/v1/blobs/sha256:\(digest)"),
            ("POST", "/v1/blobs"),
        ] {
            let answer = try client.request(method, target, Self.gzip, body: coded)
            #expect([200, 201].contains(answer.status), "\(target): \(answer.text)")
            #expect(answer.member("digest") == "sha256:\(digest)")
            #expect(answer.member("byte_count") == "\(bytes.count)")
            #expect(answer.member("stored_byte_count") == "\(coded.count)")
            #expect(answer.member("coding") == "gzip")
        }
        for path in [
            "/v1/notifications/a/payload", "/v1/notifications/a/parts/b", "/api/notifications/0",
            "/v1/blobs/sha256:\(digest)",
        ] {
            #expect(try client.request("GET", path).body == bytes)
            let sent = try client.request("GET", path, ["Accept-Encoding": "gzip"])
            #expect(sent.body == coded && sent["Content-Encoding"] == "gzip")
            for range in [0..<1, 7..<5_000, bytes.count - 9..<bytes.count] {
                let piece = try client.request(
                    "GET", path, ["Range": "bytes=\(range.lowerBound)-\(range.upperBound - 1)"])
                #expect(piece.status == 206 && piece.body == Array(bytes[range]))
            }
        }
        #expect(try daemon.statistic("blobs") == 1)
        #expect(daemon.stop() == 0)
        let verified = try blobd(["verify", "--data", daemon.dataPath])
        #expect(verified.status == 0, "\(verified.errors)")
    }

    @Test("The same through the binary protocol and the client")
    func binary() throws {
        let daemon = try DaemonProcess()
        let bytes = shrinkingText(800)
        let coded = gzipped(bytes)
        var connection = try BlobConnection.connect(to: daemon.socketPath)
        let receipt = try connection.put(
            PutRequest(id: "a", mediaType: "application/x-tar", coding: .gzip), coded.span.bytes)
        #expect(receipt.digest == PayloadDigest(of: bytes.span.bytes))
        #expect(receipt.byteCount == UInt64(bytes.count) && receipt.isCompressed)
        #expect(receipt.storedByteCount == UInt64(coded.count))
        #expect(try connection.get("a").bytes == bytes)
        let held = try connection.call(.storeBlob(coded, ttlSeconds: 60, coding: .gzip))
        #expect(!held.isCreated && held.digest == receipt.digest)
        #expect(held.byteCount == Int64(bytes.count))
        let other = try connection.call(.storeBlob(gzipped(shrinkingText(9)), coding: .gzip))
        #expect(other.isCreated && other.digest == PayloadDigest(of: shrinkingText(9).span.bytes))
        #expect(throws: ClientError.self) {
            _ = try connection.put(PutRequest(id: "b", coding: .gzip), bytes.span.bytes)
        }
        #expect(throws: ClientError.self) {
            try connection.call(
                DaemonCall(
                    .put, "/v1/notifications/b", body: coded, mediaType: "application/json",
                    coding: .gzip))
        }
        #expect(try connection.get("a").bytes == bytes)
    }

    @Test("In chunks, byte by byte, and called x-gzip, it is the same")
    func pieces() throws {
        let daemon = try DaemonProcess()
        let bytes = shrinkingText(40)
        let coded = gzipped(bytes)
        let client = try daemon.connect()
        client.send(
            "PUT /v1/notifications/c/payload HTTP/1.1\r\nHost: b\r\nContent-Encoding: X-GZip\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for byte in coded { client.send(Array("1\r\n".utf8) + [byte] + Array("\r\n".utf8)) }
        client.send("0\r\n\r\n")
        #expect(try client.answer().status == 201)
        #expect(try client.request("GET", "/v1/notifications/c/payload").body == bytes)
    }

    @Test("Damaged, cut short or followed by garbage: 400, and nothing is stored")
    func damaged() throws {
        let daemon = try DaemonProcess()
        let coded = gzipped(shrinkingText(40))
        var flipped = coded
        flipped[coded.count / 2] ^= 0x40
        let client = try daemon.connect()
        for body in [
            [], [1], Array("not gzip at all".utf8), Array(coded.dropLast()),
            Array(coded.prefix(12)), coded + [0], coded + Array("garbage".utf8), flipped,
        ] {
            for target in ["/v1/notifications/d/payload", "/v1/blobs"] {
                let answer = try client.request(
                    target == "/v1/blobs" ? "POST" : "PUT", target, Self.gzip, body: body)
                #expect(answer.status == 400 && answer.code == "bad_coding", "\(answer.text)")
            }
        }
        #expect(try daemon.statistic("blobs") == 0)
        #expect(try daemon.statistic("notifications") == 0)
    }

    @Test("A bomb is cut at the limit, with little memory")
    func bomb() throws {
        let daemon = try DaemonProcess(["--max-payload", "1MiB"])
        // 100 KB that would be 100 MB.
        let bomb = gzipped([UInt8](repeating: 0, count: 100_000_000))
        #expect(bomb.count < 200_000)
        try daemon.put("warm", [1])
        let before = processStatus(daemon.pid, "VmHWM")
        for _ in 0..<3 {
            let client = try daemon.connect()
            let answer = try client.request(
                "PUT", "/v1/notifications/z/payload", Self.gzip, body: bomb)
            #expect(answer.status == 413 && answer.code == "payload_too_large", "\(answer.text)")
            #expect(answer.text.contains("1048576"))
            // All of the body was read: the connection goes on.
            #expect(try client.request("GET", "/v1/notifications/z").status == 404)
        }
        #expect(processStatus(daemon.pid, "VmHWM") - before < 16 << 10)
        let fits = gzipped([UInt8](repeating: 0, count: 1 << 20))
        let answer = try daemon.request(
            "PUT", "/v1/notifications/z/payload", Self.gzip, body: fits)
        #expect(answer.status == 201 && answer.member("byte_count") == "1048576")
        // Of a coding there are no more bytes than the longest payload needs.
        let client = try daemon.connect()
        client.send(
            "PUT /v1/notifications/z/payload HTTP/1.1\r\nHost: b\r\nContent-Encoding: gzip\r\nContent-Length: 1200000\r\n\r\n"
        )
        #expect(try client.answer().status == 413)
    }

    @Test("A payload, a part and a blob in deflate are stored as they were given")
    func deflate() throws {
        let daemon = try DaemonProcess()
        let bytes = shrinkingText(800)
        let digest = PayloadDigestText.of(bytes)
        let fields = ["Content-Encoding": "deflate", "Content-Type": "application/x-tar"]
        let client = try daemon.connect()
        for (method, target) in [
            ("PUT", "/v1/notifications/a/payload"), ("PUT", "/v1/notifications/a/parts/b"),
            ("PUT", "/v1/blobs/sha256:\(digest)"), ("POST", "/v1/blobs"),
        ] {
            let answer = try client.request(method, target, fields, body: deflated(bytes))
            #expect([200, 201].contains(answer.status), "\(target): \(answer.text)")
            #expect(answer.member("digest") == "sha256:\(digest)")
            // No form of it that a client takes: it is not stored as it came.
            #expect(answer.member("coding") == "identity")
        }
        #expect(try client.request("GET", "/v1/notifications/a/payload").body == bytes)
        for body in [Array(deflated(bytes).dropLast()), gzipped(bytes), deflated(bytes) + [0], []] {
            let answer = try client.request("POST", "/v1/blobs", fields, body: body)
            #expect(answer.status == 400 && answer.code == "bad_coding", "\(answer.text)")
            #expect(answer.member("detail")?.contains("deflate") == true)
        }
        #expect(daemon.stop() == 0)
        #expect(try blobd(["verify", "--data", daemon.dataPath]).status == 0)
    }

    // Documents had to be sent as they are; a batch of a campaign shrinks to a tenth.
    @Test("Documents and batches may be coded, whichever they are", arguments: ["gzip", "deflate"])
    func documents(coding: String) throws {
        let daemon = try DaemonProcess()
        let client = try daemon.connect()
        func send(
            _ method: String, _ target: String, _ document: String,
            type: String = "application/json"
        ) throws -> HTTPAnswer {
            let bytes = Array(document.utf8)
            return try client.request(
                method, target, ["Content-Encoding": coding, "Content-Type": type],
                body: coding == "gzip" ? gzipped(bytes) : deflated(bytes))
        }
        #expect(
            try send("PUT", "/v1/categories/c", #"{"actions":[{"identifier":"yes","title":"Y"}]}"#)
                .status == 201)
        let put = try send(
            "PUT", "/v1/notifications/a",
            #"{"owner":"u","message":"m","category":"c","group":"g"}"#)
        #expect(put.status == 201 && put.member("message") == "m", "\(put.text)")
        #expect(try send("POST", "/v1/notifications", #"{"message":"n"}"#).status == 201)
        let patched = try send("PATCH", "/v1/notifications/a", #"{"title":"t"}"#)
        #expect(patched.status == 200 && patched.member("title") == "t")
        let responded = try send("POST", "/v1/notifications/a/responses", #"{"action":"yes"}"#)
        #expect(responded.status == 201)
        let group = try send(
            "PATCH", "/v1/users/u/notifications?group=g", #"{"read":false}"#,
            type: "application/merge-patch+json")
        #expect(group.text == #"{"matched":1,"changed":1}"#)
        let lines = (0..<1_000).map { #"{"id":"b\#($0)","owner":"u","message":"Sale"}"# }
        let batch = try send(
            "POST", "/v1/notifications:batch", lines.joined(separator: "\n"),
            type: "application/x-ndjson")
        #expect(batch.text.ranges(of: #""status":201"#).count == 1_000)
        #expect(try daemon.statistic("notifications") == 1_002)
        try daemon.waitUntil("body_memory_bytes") { $0 == 0 }
    }

    @Test("A document's limit is of what is inside, and a bomb is cut there with little memory")
    func documentLimits() throws {
        let daemon = try DaemonProcess()
        let client = try daemon.connect()
        let fields = ["Content-Encoding": "gzip", "Content-Type": "application/json"]
        func padded(_ byteCount: Int) -> [UInt8] {
            let start = Array(#"{"message":"m""#.utf8)
            return start + [UInt8](repeating: 0x20, count: byteCount - start.count - 1)
                + Array("}".utf8)
        }
        let target = "/v1/notifications/a"
        let limit = WireLimits.documentByteCountMax
        let fits = try client.request("PUT", target, fields, body: gzipped(padded(limit)))
        #expect(fits.status == 201, "\(fits.text)")
        let over = try client.request("PUT", target, fields, body: gzipped(padded(limit + 1)))
        #expect(over.status == 413 && over.code == "payload_too_large", "\(over.text)")
        #expect(over.member("detail")?.contains("\(limit) bytes when decompressed") == true)
        // 60 KB that would be 60 MB, and 8 MB that would be 8 GB.
        let before = processStatus(daemon.pid, "VmHWM")
        let bomb = gzipped([UInt8](repeating: 0x20, count: 60_000_000))
        for _ in 0..<3 {
            #expect(try client.request("PUT", target, fields, body: bomb).status == 413)
            let batch = try client.request(
                "POST", "/v1/notifications:batch", ["Content-Encoding": "gzip"], body: bomb)
            #expect(batch.status == 413 && batch.code == "payload_too_large", "\(batch.text)")
        }
        #expect(processStatus(daemon.pid, "VmHWM") - before < 40 << 10)
        // No more bytes of a coding than the longest document needs.
        client.send(
            "PUT \(target) HTTP/1.1\r\nHost: b\r\nContent-Encoding: gzip\r\nContent-Length: 80000\r\n\r\n"
        )
        #expect(try client.answer().status == 413)
        #expect(try daemon.request("GET", target).member("revision") == "1")
        try daemon.waitUntil("body_memory_bytes") { $0 == 0 }
    }

    @Test("A damaged coding of a document is 400, changes nothing, and the connection goes on")
    func damagedDocuments() throws {
        let daemon = try DaemonProcess()
        let client = try daemon.connect()
        let document = Array(#"{"message":"m"}"#.utf8)
        for (coding, body) in [
            ("gzip", document), ("gzip", Array(gzipped(document).dropLast())),
            ("gzip", deflated(document)), ("gzip", []), ("deflate", document),
            ("deflate", gzipped(document)), ("deflate", deflated(document) + [1]),
        ] {
            for (method, target) in [
                ("PUT", "/v1/notifications/a"), ("POST", "/v1/notifications:batch"),
            ] {
                let answer = try client.request(
                    method, target, ["Content-Encoding": coding], body: body)
                #expect(answer.status == 400 && answer.code == "bad_coding", "\(answer.text)")
            }
        }
        #expect(try daemon.statistic("notifications") == 0)
        var connection = try BlobConnection.connect(to: daemon.socketPath)
        let answer = try connection.call(
            DaemonCall(
                .put, "/v1/notifications/a", body: gzipped(document),
                mediaType: "application/json", coding: .gzip))
        #expect(answer.status == 201)
    }

    @Test("Other codings, and codings elsewhere, are 415 and say which there are")
    func unknown() throws {
        let daemon = try DaemonProcess()
        let coded = gzipped(Array("{\"message\":\"m\"}".utf8))
        func expect(
            _ method: String, _ target: String, _ coding: String, _ type: String, _ taken: String
        ) throws {
            let answer = try daemon.request(
                method, target, ["Content-Encoding": coding, "Content-Type": type], body: coded)
            #expect(answer.status == 415 && answer.code == "unsupported_content_coding")
            #expect(answer["Accept-Encoding"] == taken, "\(method) \(target)")
        }
        let json = "application/json"
        for coding in ["br", "zstd", "compress", "gzip, gzip", "gzip, br", "deflate, gzip", "*"] {
            for (method, target, type) in [
                ("PUT", "/v1/notifications/a/payload", "image/png"),
                ("PUT", "/v1/notifications/a/parts/b", "image/png"),
                ("POST", "/v1/notifications", "image/png"), ("POST", "/v1/blobs", "image/png"),
                ("PUT", "/v1/notifications/a", json), ("POST", "/v1/notifications", json),
                ("PATCH", "/v1/notifications/a", json), ("PUT", "/v1/categories/a", json),
                ("POST", "/v1/notifications/a/responses", json),
                ("POST", "/v1/notifications:batch", "application/x-ndjson"),
            ] { try expect(method, target, coding, type, "gzip, deflate, identity") }
        }
        for coding in ["gzip", "deflate"] {
            try expect("POST", "/v1/notifications", coding, multipartType, "identity")
            try expect("PUT", "/v1/notifications/a", coding, multipartType, "identity")
        }
        #expect(try daemon.statistic("blobs") == 0)
    }
}
