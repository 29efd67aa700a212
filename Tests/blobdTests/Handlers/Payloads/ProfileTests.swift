import BlobClient
import BlobProtocol
import TestSupport
import Testing

/// The limits of devices by media type: what iOS does not take as an attachment is refused, when it
/// is asked for.
@Suite(.waiting) struct ProfileTests {
    private static let audioMax = WireLimits.iosAudioByteCountMax

    private func expectTooLarge(
        _ answer: HTTPAnswer, _ byteCount: Int, _ mediaType: String, limit: Int,
        _ name: Comment? = nil
    ) {
        #expect(answer.status == 422 && answer.code == "attachment_too_large", name)
        #expect(answer.member("limit") == "\(limit)", name)
        #expect(answer.member("byte_count") == "\(byteCount)", name)
        #expect(answer.member("media_type") == mediaType, name)
        #expect(answer.member("profile") == "ios", name)
    }

    /// The error names what was given, whose devices do not take it, and what they take.
    private func expectUnsupported(
        _ answer: HTTPAnswer, part: String, _ mediaType: String, _ profile: String,
        _ name: Comment? = nil
    ) {
        #expect(answer.status == 422 && answer.code == "unsupported_attachment", name)
        #expect(answer.member("part") == part, name)
        #expect(answer.member("media_type") == mediaType, name)
        #expect(answer.member("profile") == profile, name)
        let detail = answer.member("detail") ?? ""
        #expect(
            detail.hasPrefix(
                "the part \(part) has the type \(mediaType); the profile \(profile) takes only image/"
            ),
            "\(detail)")
        let allowed =
            profile == "ios"
            ? #""allowed":["image/jpeg","image/jpg","image/gif","image/png","audio/aiff","#
            : #""allowed":["image/*"]"#
        #expect(answer.text.contains(allowed), "\(answer.text)")
    }

    /// A head without its body: what is refused is refused before that is sent.
    private func head(
        _ client: RawClient, _ target: String, _ mediaType: String, _ byteCount: Int
    ) throws -> HTTPAnswer? {
        client.send(
            "PUT \(target) HTTP/1.1\r\nHost: b\r\nExpect: 100-continue\r\nContent-Type: \(mediaType)\r\nContent-Length: \(byteCount)\r\n\r\n"
        )
        let head = try client.receive(upTo: Array("\r\n\r\n".utf8))
        let line = String(decoding: head, as: UTF8.self).split(separator: "\r\n")[0]
        guard !line.contains(" 100 ") else { return nil }
        guard let start = String(decoding: head, as: UTF8.self).firstRange(of: "Content-Length: ")
        else { throw TestFailure("no length") }
        let text = String(decoding: head, as: UTF8.self)[start.upperBound...]
        let body = try client.receive(try #require(Int(text.prefix { $0.isNumber })))
        return HTTPAnswer(
            status: Int(line.split(separator: " ")[1]) ?? 0, statusLine: String(line),
            fields: ["content-type": "application/problem+json"], body: body)
    }

    @Test("Each limit holds to the byte, by the type alone, before the body is read")
    func heads() throws {
        for isOfDaemon in [false, true] {
            let daemon = try DaemonProcess(isOfDaemon ? ["--profile", "ios"] : [])
            let query = isOfDaemon ? "" : "?profile=ios"
            for (mediaType, limit) in [
                ("image/png", 10_000_000), ("IMAGE/png;q=1", 10_000_000), ("image/gif", 10_000_000),
                ("audio/wav", 5_000_000), ("audio/x-m4a", 5_000_000), ("video/mp4", 50_000_000),
                ("video/mpeg", 50_000_000), ("video/x-msvideo", 50_000_000),
            ] {
                for (path, over) in [("payload", 0), ("payload", 1), ("parts/a", 1)] {
                    let target = "/v1/notifications/a/\(path)\(query)"
                    let byteCount = limit + over
                    let answer = try head(try daemon.connect(), target, mediaType, byteCount)
                    if over > 0 {
                        let answer = try #require(answer, "\(mediaType)")
                        expectTooLarge(answer, byteCount, mediaType, limit: limit, "\(mediaType)")
                    } else {
                        #expect(answer == nil, "\(mediaType), \(byteCount)")
                    }
                }
            }
            // Without a profile everything is taken.
            if !isOfDaemon {
                let answer = try head(
                    try daemon.connect(), "/v1/notifications/a/payload", "audio/wav", 6_000_000)
                #expect(answer == nil)
            }
            #expect(daemon.stop() == 0)
        }
    }

    // A profile was a limit of sizes alone: iOS drops an attachment of a type that it does not know.
    @Test("A media type that the devices do not take is refused before the body is read")
    func types() throws {
        let daemon = try DaemonProcess()
        for (profile, mediaType) in [
            ("ios", "text/plain"), ("ios", "imagery/png"), ("ios", "image/webp"),
            ("ios", "image/pngs"), ("ios", "audio/ogg"), ("ios", "video/quicktime"),
            ("ios", "application/octet-stream"), ("android", "audio/wav"),
            ("android", "imagery/png"), ("android", "application/octet-stream"),
        ] {
            let target = "/v1/notifications/a/parts/x?profile=\(profile)"
            let answer = try #require(
                try head(try daemon.connect(), target, mediaType, 9), "\(profile) \(mediaType)")
            expectUnsupported(answer, part: "x", mediaType, profile, "\(profile) \(mediaType)")
        }
        let client = try daemon.connect()
        let untold = try client.request(
            "PUT", "/v1/notifications/a/payload?profile=ios", body: [1])
        expectUnsupported(untold, part: "payload", "application/octet-stream", "ios")
        let coded = try client.request(
            "PUT", "/v1/notifications/a/payload?profile=ios",
            ["Content-Type": "text/plain", "Content-Encoding": "gzip"], body: gzipped([1]))
        expectUnsupported(coded, part: "payload", "text/plain", "ios")
        // Android takes any image, up to its limit.
        let limit = WireLimits.androidImageByteCountMax
        let target = "/v1/notifications/a/payload?profile=android"
        for mediaType in ["image/webp", "Image/JPEG"] {
            #expect(try head(try daemon.connect(), target, mediaType, limit) == nil)
            let answer = try #require(
                try head(try daemon.connect(), target, mediaType, limit + 1))
            #expect(answer.code == "attachment_too_large" && answer.member("limit") == "\(limit)")
            #expect(answer.member("profile") == "android" && answer.member("part") == "payload")
        }
        #expect(try client.request("GET", "/v1/notifications/a").status == 404)
        #expect(daemon.stop() == 0)
    }

    @Test("Documents, forms and batches are refused for a part's type, and store nothing")
    func typesOfDocuments() throws {
        let daemon = try DaemonProcess()
        let client = try daemon.connect()
        let bytes: [UInt8] = [1, 2, 3]
        let digest = "sha256:\(PayloadDigestText.of(bytes))"
        #expect(try client.request("PUT", "/v1/blobs/\(digest)", body: bytes).status == 201)
        let text = #"{"name":"note","media_type":"text/plain","digest":"\#(digest)"}"#
        let untold = #"{"name":"note","digest":"\#(digest)"}"#
        func document(_ part: String, _ rest: String = "") -> [UInt8] {
            Array(#"{"profile":"ios","parts":[\#(part)]\#(rest)}"#.utf8)
        }
        let json = ["Content-Type": "application/json"]
        for (part, type) in [(text, "text/plain"), (untold, "application/octet-stream")] {
            let answer = try client.request(
                "PUT", "/v1/notifications/a", json, body: document(part))
            expectUnsupported(answer, part: "note", type, "ios")
        }
        let form = try client.request(
            "PUT", "/v1/notifications/b", ["Content-Type": multipartType],
            body: multipartBody(
                #"{"profile":"android"}"#,
                files: [("payload", "image/png", bytes), ("note", "text/plain", bytes)]))
        expectUnsupported(form, part: "note", "text/plain", "android")
        let batch = try client.request(
            "POST", "/v1/notifications:batch", ["Content-Type": "application/x-ndjson"],
            body: document(text, #","id":"c""#) + Array("\n".utf8)
                + document(
                    #"{"name":"x","media_type":"image/png","digest":"\#(digest)"}"#, #","id":"d""#))
        let lines = batch.text.split(separator: "\n")
        #expect(lines.count == 2 && lines[0].contains("unsupported_attachment"))
        #expect(lines[1].contains(#""status":201"#))
        for id in ["a", "b", "c"] {
            #expect(try client.request("GET", "/v1/notifications/\(id)").status == 404)
        }
        let binary = try daemon.connectBinary()
        var draft = Put.Draft(id: "e", mediaType: "text/plain")
        draft.profile = Array("ios".utf8)
        let put = try binary.exchange(try putFrame(draft, body: bytes))
        #expect(put.status == 422 && put.code == "unsupported_attachment")
        let file = try daemon.folder.write("note.txt", bytes)
        for arguments in [
            ["put", "f", file, "--profile", "android"],
            ["publish", "f", "--part", "payload=\(file)", "--profile", "android"],
        ] {
            let result = try blobd(arguments, socket: daemon.socketPath)
            #expect(result.status == 1, "\(arguments[0])")
            #expect(result.errors.contains("422 unsupported_attachment"), "\(result.errors)")
            #expect(result.errors.contains("takes only image/* up to 1000000 bytes"))
        }
        #expect(daemon.stop() == 0)
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
        // The connection goes on.
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
        draft.profile = Array("ios".utf8)
        let put = try binary.exchange(try putFrame(draft, body: large))
        #expect(put.status == 422 && put.code == "attachment_too_large")
        draft.mediaType = Array("image/png".utf8)
        #expect(try binary.exchange(try putFrame(draft, body: large)).status == 201)
        let call = try binary.exchange(
            callFrame(
                .put, "/v1/notifications/f", mediaType: "application/json",
                body: String(decoding: document("audio/wav"), as: UTF8.self)))
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
        let daemon = try DaemonProcess(["--profile", "ios"])
        let client = try daemon.connect()
        let binary = try daemon.connectBinary()
        var random = SeededGenerator(seed: 71)
        let most = random.bytes(Self.audioMax)
        let longer = gzipped(most)
        #expect(longer.count > Self.audioMax)
        let more = [UInt8](repeating: 7, count: Self.audioMax + 1)
        let shorter = gzipped(more)
        #expect(shorter.count < Self.audioMax)
        let target = "/v1/notifications/a/payload"
        let fields = ["Content-Type": "audio/wav", "Content-Encoding": "gzip"]
        func putChunked(_ bytes: [UInt8]) throws -> HTTPAnswer {
            client.send(
                "PUT \(target) HTTP/1.1\r\nHost: b\r\nContent-Type: audio/wav\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n\(String(bytes.count, radix: 16))\r\n"
            )
            client.send(bytes)
            client.send("\r\n0\r\n\r\n")
            return try client.answer()
        }
        func putFramed(_ bytes: [UInt8]) throws -> FrameAnswer {
            var draft = Put.Draft(id: "a", mediaType: "audio/wav")
            draft.coding = .gzip
            return try binary.exchange(try putFrame(draft, body: bytes))
        }
        #expect(try client.request("PUT", target, fields, body: longer).status == 201)
        #expect(try putChunked(longer).status == 200)
        #expect(try putFramed(longer).status == 200)
        let whole = try client.request("PUT", target, fields, body: shorter)
        expectTooLarge(whole, more.count, "audio/wav", limit: Self.audioMax)
        expectTooLarge(
            try putChunked(shorter), more.count, "audio/wav", limit: Self.audioMax)
        let framed = try putFramed(shorter)
        #expect(framed.status == 422 && framed.code == "attachment_too_large")
        #expect(try client.request("GET", target).body == most)
        #expect(daemon.stop() == 0)
    }

    @Test("An unknown profile is refused, and those there are named")
    func unknown() throws {
        let daemon = try DaemonProcess()
        let client = try daemon.connect()
        let json = ["Content-Type": "application/json"]
        var draft = Put.Draft(id: "a")
        draft.profile = Array("windows".utf8)
        let frame = try daemon.connectBinary().exchange(try putFrame(draft, body: [1]))
        var texts = [frame.text]
        for name in ["windows", "iOS", ""] {
            let raw = try client.request(
                "PUT", "/v1/notifications/a/payload?profile=\(name)", body: [1])
            let document = try client.request(
                "PUT", "/v1/notifications/a", json, body: Array(#"{"profile":"\#(name)"}"#.utf8))
            #expect(raw.status == 400 && document.status == 400)
            texts += [raw.text, document.text]
        }
        for text in texts {
            #expect(jsonMember(text, "code") == "bad_profile", "\(text)")
            #expect(text.contains("known are ios, android"), "\(text)")
        }
        let bad = try blobd([
            "serve", "--data", "/tmp", "--socket", "/tmp/x", "--profile",
            "windows",
        ])
        #expect(bad.status == 2 && bad.errors.contains("ios, android"))
        #expect(daemon.stop() == 0)
    }

    @Test("The client and the commands name a profile")
    func clients() throws {
        let daemon = try DaemonProcess()
        let large = [UInt8](repeating: 7, count: Self.audioMax + 1)
        let file = try daemon.folder.write("long.wav", large)
        for arguments in [
            ["put", "1", file, "--type", "audio/wav", "--profile", "ios"],
            ["publish", "1", "--part", "payload=\(file):audio/wav", "--profile", "ios"],
        ] {
            let result = try blobd(arguments, socket: daemon.socketPath)
            #expect(result.status == 1, "\(arguments[0])")
            #expect(result.errors.contains("422 attachment_too_large"), "\(result.errors)")
            #expect(result.errors.contains("\(Self.audioMax)"), "\(result.errors)")
        }
        #expect(try daemon.run("put", "1", file, "--type", "audio/wav").status == 0)
        var connection = try BlobConnection.connect(to: daemon.socketPath)
        do throws(ClientError) {
            _ = try connection.put(
                PutRequest(id: "2", mediaType: "audio/wav", profile: "ios"), large.span.bytes)
            Issue.record("stored")
        } catch {
            guard case .refused(let problem) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(problem.code == "attachment_too_large" && problem.limit == Self.audioMax)
        }
        var upload = NotificationUpload(id: "3")
        upload.profile = "ios"
        upload.parts = [.init(mediaType: "audio/wav", .bytes(large))]
        #expect(throws: ClientError.self) { try connection.call(.publish(upload)) }
        upload.parts = [.init(mediaType: "audio/wav", .bytes([1]))]
        #expect(try connection.call(.publish(upload)).isCreated)
    }
}
