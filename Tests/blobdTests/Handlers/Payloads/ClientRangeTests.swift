import BlobClient
import BlobProtocol
import TestSupport
import Testing

/// Ranges, as the client asks for them.
@Suite(.waiting) struct ClientRangeTests {
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
