import BlobClient
import BlobProtocol
import TestSupport
import Testing

/// Uploads in `Content-Encoding: gzip`: what is inside is stored, and counts.
@Suite struct CodedUploadTests {
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
        let held = try connection.storeBlob(coded, ttlSeconds: 60, coding: .gzip)
        #expect(!held.isCreated && held.digest == receipt.digest)
        #expect(held.byteCount == Int64(bytes.count))
        let other = try connection.storeBlob(gzipped(shrinkingText(9)), coding: .gzip)
        #expect(other.isCreated && other.digest == PayloadDigest(of: shrinkingText(9).span.bytes))
        #expect(throws: ClientError.self) {
            _ = try connection.put(PutRequest(id: "b", coding: .gzip), bytes.span.bytes)
        }
        #expect(throws: ClientError.self) {
            _ = try connection.call(
                .put, "/v1/notifications/b", body: coded, mediaType: "application/json",
                coding: .gzip)
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
        for coding in ["br", "deflate", "gzip, gzip", "gzip, br", "*"] {
            try expect("PUT", "/v1/notifications/a/payload", coding, "image/png", "gzip, identity")
            try expect("PUT", "/v1/notifications/a/parts/b", coding, "image/png", "gzip, identity")
            try expect("POST", "/v1/notifications", coding, "image/png", "gzip, identity")
            try expect("POST", "/v1/blobs", coding, "image/png", "gzip, identity")
        }
        let json = "application/json"
        try expect("PUT", "/v1/notifications/a", "gzip", json, "identity")
        try expect("POST", "/v1/notifications", "gzip", json, "identity")
        try expect("POST", "/v1/notifications", "gzip", multipartType, "identity")
        try expect("PATCH", "/v1/notifications/a", "gzip", json, "identity")
        try expect(
            "POST", "/v1/notifications:batch", "gzip", "application/x-ndjson", "identity")
        #expect(try daemon.statistic("blobs") == 0)
    }
}
