import BlobClient
import BlobProtocol
import TestSupport
import Testing

/// Bodies that come in pieces of any size, and such as are short and would be long. The others are in the tables
/// `framing.txt` and `codings.txt`.
@Suite(.waiting) struct LongBodiesTests {
    private static let gzip = ["Content-Encoding": "gzip", "Content-Type": "application/x-tar"]

    /// Sends a body in chunks, each longer than the one before.
    private func putInChunks(
        _ client: RawClient, _ target: String, _ fields: String, _ body: [UInt8]
    ) throws -> HTTPAnswer {
        client.send(
            "PUT \(target) HTTP/1.1\r\nHost: b\r\n\(fields)Transfer-Encoding: chunked\r\n\r\n")
        var rest = body[...]
        var size = 1
        while !rest.isEmpty {
            let piece = Array(rest.prefix(size))
            rest = rest.dropFirst(size)
            client.send(
                Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + Array("\r\n".utf8))
            size = size * 2 + 1
        }
        client.send("0\r\n\r\n")
        return try client.answer()
    }

    @Test(
        "A payload, a form longer than memory and a coded body are put together, however they are cut"
    )
    func pieces() throws {
        let daemon = try DaemonProcess()
        let client = try daemon.connect()
        var random = SeededGenerator(seed: 31)
        let payload = random.bytes(100_000)
        let target = "/v1/notifications/m"
        #expect(try putInChunks(client, "\(target)/payload", "", payload).status == 201)
        #expect(try client.request("GET", "\(target)/payload").body == payload)
        let files = (0..<8).map { index in
            (name: "f\(index)", type: String?("image/png"), bytes: random.bytes(60_000 * index))
        }
        let form = multipartBody(#"{"message":"m"}"#, files: files)
        let type = "Content-Type: \(multipartType)\r\n"
        #expect(try putInChunks(client, target, type, form).status == 200)
        for file in files {
            #expect(try client.request("GET", "\(target)/parts/\(file.name)").body == file.bytes)
        }
        let coded = gzipped(shrinkingText(4_000))
        let coding = "Content-Encoding: X-GZip\r\n"
        #expect(try putInChunks(client, "\(target)/payload", coding, coded).status == 201)
        #expect(try client.request("GET", "\(target)/payload").body == shrinkingText(4_000))
        try daemon.waitUntil("body_memory_bytes") { $0 == 0 }
    }

    @Test("Through the binary protocol and the client a coded body is the same")
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
        let held = try connection.call(.storeBlob(coded, ttlSeconds: 60, coding: .gzip))
        #expect(!held.isCreated && held.digest == receipt.digest)
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

    @Test("A bomb is cut at the limit of a payload, a document or a batch, with little memory")
    func bombs() throws {
        let daemon = try DaemonProcess(["--max-payload", "1MiB"])
        let client = try daemon.connect()
        let json = ["Content-Encoding": "gzip", "Content-Type": "application/json"]
        func padded(_ byteCount: Int) -> [UInt8] {
            let start = Array(#"{"message":"m""#.utf8)
            return start + [UInt8](repeating: 0x20, count: byteCount - start.count - 1) + [0x7D]
        }
        let (target, limit) = ("/v1/notifications/a", WireLimits.documentByteCountMax)
        let fits = try client.request("PUT", target, json, body: gzipped(padded(limit)))
        #expect(fits.status == 201, "\(fits.text)")
        let over = try client.request("PUT", target, json, body: gzipped(padded(limit + 1)))
        #expect(over.status == 413 && over.code == "payload_too_large", "\(over.text)")
        #expect(over.member("detail")?.contains("\(limit) bytes when decompressed") == true)
        // 100 KB that would be 100 MB.
        let bomb = gzipped([UInt8](repeating: 0x20, count: 100_000_000))
        #expect(bomb.count < 200_000)
        let before = processStatus(daemon.pid, "VmHWM")
        for _ in 0..<3 {
            let payload = try client.request("PUT", "\(target)/payload", Self.gzip, body: bomb)
            #expect(payload.status == 413 && payload.text.contains("1048576"), "\(payload.text)")
            let batch = try client.request(
                "POST", "/v1/notifications:batch", ["Content-Encoding": "gzip"], body: bomb)
            #expect(batch.status == 413 && batch.code == "payload_too_large", "\(batch.text)")
            #expect(
                try daemon.request(
                    "PUT", target, json, body: gzipped([UInt8](repeating: 0x20, count: 60_000_000))
                ).status == 413)
        }
        #expect(processStatus(daemon.pid, "VmHWM") - before < 40 << 10)
        let most = gzipped([UInt8](repeating: 0, count: 1 << 20))
        let whole = try client.request("PUT", "\(target)/payload", Self.gzip, body: most)
        #expect(whole.status == 201 && whole.member("byte_count") == "1048576")
        // Of a coding there are no more bytes than the longest payload or document needs.
        for (path, count) in [("\(target)/payload", 1_200_000), (target, 80_000)] {
            let late = try daemon.connect()
            late.send(
                "PUT \(path) HTTP/1.1\r\nHost: b\r\nContent-Encoding: gzip\r\nContent-Length: \(count)\r\n\r\n"
            )
            #expect(try late.answer().status == 413)
        }
        try daemon.waitUntil("body_memory_bytes") { $0 == 0 }
    }
}
