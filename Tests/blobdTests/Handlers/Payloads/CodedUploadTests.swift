import BlobClient
import BlobProtocol
import TestSupport
import Testing

/// Uploads in `Content-Encoding: gzip` that are long, come in pieces, or by the binary protocol. The others are in the
/// table `codings.txt`.
@Suite(.waiting) struct CodedUploadTests {
    private static let gzip = ["Content-Encoding": "gzip", "Content-Type": "application/x-tar"]

    @Test("Through the binary protocol and the client it is the same")
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
}
