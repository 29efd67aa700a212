import BlobClient
import BlobProtocol
import TestSupport
import Testing

/// `POST /v1/blobs`: bytes whose digest the daemon tells.
@Suite struct BlobUploadTests {
    @Test(
        "It stores, answers the digest, and says where the blob is", arguments: TestDialect.allCases
    )
    func stored(dialect: TestDialect) throws {
        let daemon = try DaemonProcess()
        let client = try ResourceClient(dialect, daemon)
        let bytes: [UInt8] = [1, 2, 3, 4]
        let digest = PayloadDigestText.of(bytes)
        let call = ResourceCall(.post, "/v1/blobs?ttl=600", bytes: bytes, type: "image/png")
        let made = try client.perform(call)
        #expect(made.status == 201 && made.location == "/v1/blobs/sha256:\(digest)")
        #expect(jsonMember(made.text, "digest") == "sha256:\(digest)")
        #expect(jsonMember(made.text, "byte_count") == "4")
        let again = try client.perform(call)
        #expect(again.status == 200 && again.location == made.location)
        // The same document as PUT gives.
        let put = try client.perform(
            ResourceCall(.put, "/v1/blobs/sha256:\(digest)", bytes: bytes, type: "image/png"))
        #expect(put.status == 200 && put.location == nil)
        let held = try #require(jsonMember(again.text, "held_until"))
        #expect(put.text == again.text || jsonMember(put.text, "held_until") ?? "" >= held)
        #expect(try daemon.request("GET", "/v1/blobs/sha256:\(digest)").body == bytes)
        #expect(try daemon.statistic("held_blobs") == 1)
        let published = try client.perform(
            ResourceCall(
                .put, "/v1/notifications/n",
                #"{"parts":[{"name":"payload","digest":"sha256:\#(digest)"}]}"#))
        #expect(published.status == 201)
        #expect(try daemon.request("GET", "/v1/notifications/n/payload").body == bytes)
    }

    @Test("What is wrong with it is said as for PUT", arguments: TestDialect.allCases)
    func refused(dialect: TestDialect) throws {
        let daemon = try DaemonProcess(["--max-payload", "1000"])
        let client = try ResourceClient(dialect, daemon)
        for (target, bytes, code) in [
            ("/v1/blobs?ttl=0", [1], "bad_ttl"), ("/v1/blobs?ttl=x", [1], "bad_ttl"),
            ("/v1/blobs?owner=a", [1], "bad_query"), ("/v1/blobs/", [1], "not_found"),
            ("/v1/blobs", [UInt8](repeating: 1, count: 1_001), "payload_too_large"),
        ] as [(String, [UInt8], String)] {
            let answer = try client.perform(
                ResourceCall(.post, target, bytes: bytes, type: "image/png"))
            #expect(answer.code == code, "\(target): \(answer.text)")
        }
        for method in [Call.Method.get, .put, .patch, .delete] {
            let answer = try client.perform(ResourceCall(method, "/v1/blobs"))
            #expect(answer.status == 405, "\(method)")
        }
        let condition = try client.perform(
            ResourceCall(.post, "/v1/blobs", bytes: [1], type: nil, condition: .absent))
        #expect(condition.code == "malformed")
        #expect(try daemon.statistic("blobs") == 0)
    }

    @Test("An empty one, one in chunks, and one from the client")
    func others() async throws {
        let daemon = try DaemonProcess()
        let http = try daemon.connect()
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
