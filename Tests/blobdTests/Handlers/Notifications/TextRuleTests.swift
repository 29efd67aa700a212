import BlobProtocol
import Notifications
import TestSupport
import Testing

/// The rule of each text of a notification, on the value and through the daemon, in whatever form it comes: the wire refuses
/// what the store would refuse, in the same words, and (see `framing.txt`) before a payload is sent.
@Suite(.waiting) struct TextRuleTests {
    /// A text: where a document has it (`T`), and what it may be.
    private struct Text {
        let kind: TextKind
        let document: String
        let code: String
        let byteCountMax: Int
        var isName = false
        var hasBreaks = false
        var mayBeEmpty = false
        var isPatched = true
        /// The parameter of a payload's query.
        var query: String?
    }

    private static let texts = [
        Text(
            kind: .title, document: #"{"title":"T","data":1}"#, code: "bad_title",
            byteCountMax: 256, query: "title"),
        Text(
            kind: .message, document: #"{"message":"T"}"#, code: "bad_message",
            byteCountMax: 4_096, hasBreaks: true, query: "message"),
        Text(
            kind: .richType, document: #"{"rich_type":"T","data":1}"#, code: "bad_rich_type",
            byteCountMax: 255, query: "rich_type"),
        Text(
            kind: .owner, document: #"{"owner":"T","data":1}"#, code: "bad_owner",
            byteCountMax: 255, isPatched: false, query: "owner"),
        Text(
            kind: .app, document: #"{"app":"T","data":1}"#, code: "bad_app", byteCountMax: 64,
            isName: true, isPatched: false, query: "app"),
        Text(
            kind: .category, document: #"{"category":"T"}"#, code: "bad_category",
            byteCountMax: 64, isName: true),
        Text(
            kind: .group, document: #"{"group":"T","data":1}"#, code: "bad_group",
            byteCountMax: 128),
        Text(
            kind: .targetHost, document: #"{"target_host":"T","data":1}"#,
            code: "bad_target_host", byteCountMax: 255),
        Text(
            kind: .platform, document: #"{"platforms":["T"],"data":1}"#, code: "bad_platform",
            byteCountMax: 32, isName: true),
        Text(
            kind: .actionIdentifier,
            document: #"{"actions":[{"identifier":"T","title":"t"}],"data":1}"#,
            code: "bad_actions", byteCountMax: 64, isName: true),
        Text(
            kind: .actionTitle, document: #"{"actions":[{"identifier":"a","title":"T"}],"data":1}"#,
            code: "bad_actions", byteCountMax: 256, mayBeEmpty: true),
    ]

    /// Sends a text in all forms that have it. Returns what each was answered.
    private static func send(
        _ sample: String, _ text: Text, _ http: RawClient, _ binary: RawClient
    ) throws -> [(form: String, status: Int, answer: String)] {
        let escaped = sample.unicodeScalars.map { scalar in
            guard scalar.value < 0xA0, scalar.value < 0x20 || scalar.value >= 0x7F else {
                return String(scalar)
            }
            let hex = String(scalar.value, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
        }.joined()
        let document = text.document.replacing("T", with: escaped)
        let (target, json) = ("/v1/notifications/a", ["Content-Type": "application/json"])
        var answers: [(String, Int, String)] = []
        func add(_ form: String, _ answer: HTTPAnswer) {
            answers.append((form, answer.status, answer.text))
        }
        add("document", try http.request("PUT", target, json, body: Array(document.utf8)))
        add(
            "form",
            try http.request(
                "PUT", target, ["Content-Type": multipartType],
                body: multipartBody(document, files: [("payload", nil, [1])])))
        let called = try binary.exchange(
            TestRequest("PUT", target, document).bytes(in: .call))
        answers.append(("call", Int(called.status), called.text))
        if text.isPatched {
            add("patch", try http.request("PATCH", target, json, body: Array(document.utf8)))
        }
        // A request line may have 8 KiB.
        if let query = text.query, (1...2_000).contains(sample.utf8.count) {
            let value = sample.utf8.map { byte in
                "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }.joined()
            add("query", try http.request("PUT", "\(target)/payload?\(query)=\(value)", body: [1]))
        }
        return answers
    }

    @Test("A text has one rule and one set of words, whichever way it comes")
    func rules() throws {
        let daemon = try DaemonProcess()
        let (http, binary) = (try daemon.connect(), try daemon.connectBinary())
        try http.put("a", [1])
        for text in Self.texts {
            let longest = String(repeating: "é", count: text.byteCountMax / 2)
            var samples: [(text: String, isGood: Bool)] = [
                (longest, true), (longest + "éa", false), ("a\u{7}", false), ("a\0b", false),
                ("a\u{7F}", false), ("a\u{85}b", false), ("a\nb", text.hasBreaks),
                ("a\tb", text.hasBreaks), ("a/b", !text.isName),
            ]
            if text.mayBeEmpty || ![.title, .message, .richType].contains(text.kind) {
                samples.append(("", text.mayBeEmpty))
            }
            for (sample, isGood) in samples {
                let bytes = Array(sample.utf8)
                let fault = text.kind.fault(in: bytes.span.bytes, mayBeEmpty: text.mayBeEmpty)
                let name: Comment = "\(text.kind), \(sample.prefix(9).debugDescription)"
                #expect((fault == nil) == isGood, name)
                for (form, status, answer) in try Self.send(sample, text, http, binary) {
                    let code = jsonMember(answer, "code")
                    guard let fault else {
                        #expect(status < 300 || code == "unknown_category", "\(name) \(form)")
                        continue
                    }
                    #expect(status == 400 && code == text.code, "\(name) \(form): \(answer)")
                    let words = "the \(text.kind.field) \(fault.words)"
                    #expect(jsonMember(answer, "detail") == words, "\(name) \(form)")
                }
            }
        }
        #expect(daemon.stop() == 0)
    }
}
