import BlobClient
import BlobProtocol
import TestSupport
import Testing

/// `POST /v1/blobs`: bytes whose digest the daemon tells. What it shares with PUT is in SameResult and BadInput.
@Suite(.waiting) struct BlobUploadTests {
    @Test("An empty one, one in chunks, and one from the client")
    func others() async throws {
        let daemon = try DaemonProcess(["--max-payload", "1000"])
        let http = try daemon.connect()
        let long = try daemon.request("POST", "/v1/blobs", body: .init(repeating: 1, count: 1_001))
        #expect(long.code == "payload_too_large")
        let empty = try http.request("POST", "/v1/blobs", body: [])
        #expect(empty.status == 201 && empty.member("byte_count") == "0")
        http.send(
            "POST /v1/blobs HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"
        )
        let chunked = try http.answer()
        #expect(chunked.status == 201)
        #expect(chunked["Location"] == "/v1/blobs/\(chunked.member("digest") ?? "")")
        let zeros = "sha256:" + String(repeating: "0", count: 64)
        let wrong = try http.request("PUT", "/v1/blobs/\(zeros)", body: [1])
        #expect(wrong.code == "digest_mismatch" && wrong.member("expected") == zeros)
        var connection = try BlobConnection.connect(to: daemon.socketPath)
        let receipt = try connection.call(.storeBlob(Array("ab".utf8), ttlSeconds: 60))
        #expect(!receipt.isCreated && "\(receipt.digest)" == chunked.member("digest"))
        #expect(try connection.getBlob(receipt.digest).bytes == Array("ab".utf8))
        #expect(try daemon.statistic("held_blobs") == 2)
    }

    // The size of the whole payload was compared with the client's limit.
    @Test("A client takes a range that is within its limit of a payload that is not")
    func ranges() throws {
        let daemon = try DaemonProcess()
        let body = SeededGenerator.bytes(10_000)
        #expect(try daemon.put("long", body).status == 201)
        var options = BlobConnection.Options()
        options.payloadByteCountMax = 1_000
        var connection = try BlobConnection.connect(to: daemon.socketPath, options: options)
        let range = try connection.get("long", range: WireRange(first: 5_000, count: 1_000))
        #expect(range.bytes == Array(body[5_000..<6_000]))
        let digest = range.info.digest
        for range in [nil, WireRange(first: 8_999)] {
            let refusal = Self.refusal(of: digest, range, &connection)
            #expect(refusal?.status == 413 && refusal?.detail?.contains("1000 bytes") == true)
        }
        var streamed: [UInt8] = []
        let info = try connection.getBlob(digest) { _, piece in
            piece.withUnsafeBytes { streamed.append(contentsOf: $0) }
        }
        #expect(streamed == body && info.byteCount == 10_000)
    }

    private static func refusal(
        of digest: PayloadDigest, _ range: WireRange?, _ connection: inout BlobConnection
    ) -> DaemonProblem? {
        do {
            _ = try connection.getBlob(digest, range: range)
            return nil
        } catch {
            guard case .refused(let problem) = error else { return nil }
            return problem
        }
    }
}
