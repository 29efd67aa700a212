import BlobProtocol
import BlobStore
import Bytes
import TestSupport
import Testing

/// The wire refused a message for U+0000 alone; the store refused most control characters, after the
/// payload had been sent, and in other words.
@Suite(.waiting) struct TextRuleTests {
    private let noon = Timestamp(milliseconds: 1_800_000_000_000)
    private static let controls = Array(0...0x1F) + [0x7F] + Array(0x80...0x9F)

    /// A way to say a message.
    private enum Way: String, CaseIterable { case query, put, document, multipart, patch, call }

    /// Everything that a request sends a message in, without the client's own checks.
    private struct Sender {
        let http: RawClient
        let binary: RawClient

        init(_ daemon: DaemonProcess) throws {
            http = try daemon.connect()
            binary = try daemon.connectBinary()
        }

        /// - Returns: the status and the body of the answer.
        func send(_ message: String, _ way: Way) throws -> (status: Int, text: String) {
            let escaped = message.unicodeScalars.map { scalar in
                let hex = String(scalar.value, radix: 16)
                return "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            }.joined()
            let document = "{\"message\":\"\(escaped)\"}"
            let json = ["Content-Type": "application/json"]
            switch way {
            case .query:
                let query = message.utf8.map { byte in
                    "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
                }.joined()
                let answer = try http.request(
                    "PUT", "/v1/notifications/a/payload?message=\(query)", body: [1])
                return (answer.status, answer.text)
            case .put:
                let bytes = Array(message.utf8)
                let head =
                    [UInt8](repeating: 0, count: 16) + [1, 0, 0, 0, 0, 0, UInt8(bytes.count), 0]
                    + [UInt8](repeating: 0, count: 8) + Array("a".utf8) + bytes
                let answer = try binary.exchange(frame(.put, head: head, body: [1]))
                return (Int(answer.status), answer.text)
            case .document:
                let answer = try http.request(
                    "PUT", "/v1/notifications/a", json, body: Array(document.utf8))
                return (answer.status, answer.text)
            case .multipart:
                let answer = try http.request(
                    "PUT", "/v1/notifications/a", ["Content-Type": multipartType],
                    body: multipartBody(document, files: [("payload", nil, [1])]))
                return (answer.status, answer.text)
            case .patch:
                let answer = try http.request(
                    "PATCH", "/v1/notifications/a", json, body: Array(document.utf8))
                return (answer.status, answer.text)
            case .call:
                let answer = try binary.exchange(
                    callFrame(
                        .put, "/v1/notifications/a", mediaType: "application/json", body: document))
                return (Int(answer.status), answer.text)
            }
        }
    }

    @Test("A message has one rule and one set of words, whichever way it comes")
    func messages() throws {
        let daemon = try DaemonProcess()
        let folder = TemporaryFolder()
        let store = try BlobStore.open(at: folder.path)
        let sender = try Sender(daemon)
        try sender.http.put("a", [1])
        for code in Self.controls {
            let message = "ab" + String(try #require(Unicode.Scalar(UInt32(code)))) + "c"
            let name =
                "U+\(String(repeating: "0", count: code < 16 ? 3 : 2))\(String(code, radix: 16, uppercase: true))"
            let isBreak = [0x09, 0x0A, 0x0D].contains(code)
            // The store, asked by itself.
            var draft = NotificationDraft(id: "a", expiry: .after(seconds: 60))
            draft.message = message
            let outcome = try store.apply([.publishNotification(draft)], asOf: noon)[0]
            var words: String?
            if case .refused(let error) = outcome { words = error.description }
            #expect(
                words
                    == (isBreak
                        ? nil
                        : "the message must not contain the control character \(name) (byte 2)"))
            for way in Way.allCases {
                let answer = try sender.send(message, way)
                if isBreak {
                    #expect(answer.status < 300, "\(name), \(way): \(answer.text)")
                } else {
                    #expect(answer.status == 400, "\(name), \(way)")
                    #expect(jsonMember(answer.text, "code") == "bad_message", "\(name), \(way)")
                    #expect(jsonMember(answer.text, "detail") == words, "\(name), \(way)")
                }
            }
            if isBreak {
                var json: [UInt8] = []
                JSONText.append(message, to: &json)
                let record = try daemon.request("GET", "/v1/notifications/a")
                #expect(record.text.contains(String(decoding: json, as: UTF8.self)), "\(name)")
            }
        }
        for way in Way.allCases {
            #expect(try sender.send(String(repeating: "é", count: 100), way).status < 300, "\(way)")
        }
        #expect(daemon.stop() == 0)
    }

    @Test("A message is refused before its payload is sent")
    func early() throws {
        let daemon = try DaemonProcess()
        let client = try daemon.connect()
        client.send(
            "PUT /v1/notifications/a/payload?message=a%07 HTTP/1.1\r\nHost: b\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n"
        )
        let answer = try client.answer()
        #expect(answer.status == 400 && answer.code == "bad_message")
        #expect(daemon.stop() == 0)
    }

    @Test("All other texts are lines and names, in documents as in the store")
    func others() throws {
        let daemon = try DaemonProcess()
        let client = try daemon.connect()
        try client.put("a", [1])
        let json = ["Content-Type": "application/json"]
        for code in Self.controls {
            let hex = String(code, radix: 16)
            let text = "x\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            for (document, error, thing) in [
                (#"{"rich_type":"T"}"#, "bad_rich_type", "rich type"),
                (#"{"group":"T"}"#, "bad_group", "group"),
                (#"{"category":"T"}"#, "bad_category", "category"),
                (#"{"actions":[{"identifier":"a","title":"T"}]}"#, "bad_actions", "actions"),
                (#"{"actions":[{"identifier":"T","title":""}]}"#, "bad_actions", "actions"),
            ] {
                let body = Array(document.replacing("T", with: text).utf8)
                for method in ["PUT", "PATCH"] {
                    let answer = try client.request(
                        method, "/v1/notifications/a", json, body: body)
                    #expect(answer.status == 400 && answer.code == error, "\(document) \(hex)")
                    let detail = answer.member("detail") ?? ""
                    #expect(
                        detail.hasPrefix("the \(thing) ")
                            && detail.contains("the control character U+"), "\(detail)")
                }
            }
        }
        // A multipart body is refused for them as well, and nothing of it is stored.
        let answer = try client.request(
            "PUT", "/v1/notifications/b", ["Content-Type": multipartType],
            body: multipartBody(
                #"{"group":"a\u0007"}"#, files: [("payload", nil, [1])]))
        #expect(answer.code == "bad_group")
        #expect(try client.request("GET", "/v1/notifications/b").status == 404)
        #expect(daemon.stop() == 0)
    }
}
