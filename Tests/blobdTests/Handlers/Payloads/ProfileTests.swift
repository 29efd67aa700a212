import BlobClient
import BlobProtocol
import TestSupport
import Testing

/// The limits of devices by media type, in long bodies. The types that they take are in the table `profiles.txt`, the limits
/// of heads in `framing.txt`.
@Suite(.waiting) struct ProfileTests {
    private static let audioMax = WireLimits.iosAudioByteCountMax

    private func expectTooLarge(
        _ answer: HTTPAnswer, _ byteCount: Int, _ mediaType: String, limit: Int,
        profile: String = "ios"
    ) {
        #expect(answer.status == 422 && answer.code == "attachment_too_large")
        #expect(answer.member("limit") == "\(limit)")
        #expect(answer.member("byte_count") == "\(byteCount)")
        #expect(answer.member("media_type") == mediaType)
        #expect(answer.member("profile") == profile)
    }

    @Test("Chunked bodies, documents, forms, batches and the binary protocol have the same limits")
    func ways() throws {
        let daemon = try DaemonProcess()
        let client = try daemon.connect()
        let large = [UInt8](repeating: 7, count: Self.audioMax + 1)
        let digest = "sha256:\(PayloadDigestText.of(large))"
        let json = ["Content-Type": "application/json"]
        func document(_ type: String, _ rest: String = "") -> [UInt8] {
            let part = #"{"name":"payload","media_type":"\#(type)","digest":"\#(digest)"}"#
            return Array(#"{"profile":"ios","parts":[\#(part)]\#(rest)}"#.utf8)
        }
        // As a chunked body its length is known at its end.
        client.send(
            "PUT /v1/notifications/a/payload?profile=ios HTTP/1.1\r\nHost: b\r\nContent-Type: audio/wav\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        client.send("\(String(large.count, radix: 16))\r\n")
        client.send(large)
        client.send("\r\n0\r\n\r\n")
        expectTooLarge(try client.answer(), large.count, "audio/wav", limit: Self.audioMax)
        // The connection continues.
        let held = try client.request(
            "PUT", "/v1/blobs/\(digest)", ["Content-Type": "audio/wav"], body: large)
        #expect(held.status == 201)
        let stored = try client.request(
            "PUT", "/v1/notifications/a", json, body: document("Audio/wav"))
        expectTooLarge(stored, large.count, "Audio/wav", limit: Self.audioMax)
        let other = try client.request(
            "PUT", "/v1/notifications/a", json, body: document("image/png"))
        #expect(other.status == 201)
        // It is a check, and not stored.
        #expect(other.member("profile") == nil)
        for form in [
            try client.request(
                "PUT", "/v1/notifications/b", ["Content-Type": multipartType],
                body: multipartBody(
                    #"{"profile":"ios"}"#,
                    files: [("x", "image/png", [1]), ("y", "audio/wav", large)])),
            try client.request(
                "PUT", "/v1/notifications/b", ["Content-Type": multipartType],
                body: multipartBody(
                    #"{"profile":"ios","parts":[{"name":"y","media_type":"audio/wav"}]}"#,
                    files: [("y", "image/png", large)])),
        ] { expectTooLarge(form, large.count, "audio/wav", limit: Self.audioMax) }
        let batch = try client.request(
            "POST", "/v1/notifications:batch", ["Content-Type": "application/x-ndjson"],
            body: document("audio/wav", #","id":"c""#) + Array("\n".utf8)
                + document("image/png", #","id":"d""#))
        let lines = batch.text.split(separator: "\n")
        #expect(lines.count == 2 && lines[0].contains(#""status":422"#))
        #expect(lines[0].contains("attachment_too_large") && lines[1].contains(#""status":201"#))
        let binary = try daemon.connectBinary()
        var draft = Put.Draft(id: "e", mediaType: "audio/wav")
        draft.profile = "ios"
        let put = try binary.exchange(try putFrame(draft, body: large))
        #expect(put.status == 422 && put.code == "attachment_too_large")
        draft.mediaType = "image/png"
        #expect(try binary.exchange(try putFrame(draft, body: large)).status == 201)
        let call = try binary.exchange(
            TestRequest(
                "PUT", "/v1/notifications/f", String(decoding: document("audio/wav"), as: UTF8.self)
            ).bytes(in: .call))
        #expect(call.status == 422 && call.code == "attachment_too_large")
        for id in ["b", "c", "f"] {
            #expect(try client.request("GET", "/v1/notifications/\(id)").status == 404)
        }
        #expect(daemon.stop() == 0)
    }

    /// The limit was compared with what was sent: bytes of just the limit that do not shrink were
    /// refused, since their gzip coding is a little longer than they are.
    @Test("Of a gzip coding, what is inside is compared with the limit")
    func coded() throws {
        // The least limit there is.
        let limit = WireLimits.androidImageByteCountMax
        let daemon = try DaemonProcess(["--profile", "android"])
        let client = try daemon.connect()
        let binary = try daemon.connectBinary()
        var random = SeededGenerator(seed: 71)
        let most = random.bytes(limit)
        let longer = gzipped(most)
        #expect(longer.count > limit)
        let more = [UInt8](repeating: 7, count: limit + 1)
        let shorter = gzipped(more)
        #expect(shorter.count < limit)
        let target = "/v1/notifications/a/payload"
        let fields = ["Content-Type": "image/png", "Content-Encoding": "gzip"]
        func putFramed(_ bytes: [UInt8]) throws -> FrameAnswer {
            var draft = Put.Draft(id: "a", mediaType: "image/png")
            draft.coding = .gzip
            return try binary.exchange(try putFrame(draft, body: bytes))
        }
        #expect(try client.request("PUT", target, fields, body: longer).status == 201)
        #expect(try putFramed(longer).status == 200)
        let whole = try client.request("PUT", target, fields, body: shorter)
        expectTooLarge(whole, more.count, "image/png", limit: limit, profile: "android")
        let framed = try putFramed(shorter)
        #expect(framed.status == 422 && framed.code == "attachment_too_large")
        #expect(try client.request("GET", target).body == most)
        #expect(daemon.stop() == 0)
    }
}
