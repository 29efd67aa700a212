import BlobJSON
import BlobProtocol
import TestSupport
import Testing

/// What is wrong with a request is said by a code of its own, in both dialects alike, and changes
/// nothing.
@Suite(.waiting) struct BadInputTests {
    /// A request that is refused.
    struct Refused {
        var call: ResourceCall
        var code: String

        init(_ call: ResourceCall, _ code: String) {
            self.call = call
            self.code = code
        }
    }

    private static let counters = [
        "notifications", "parts", "blobs", "bytes", "orphan_blobs", "revision", "tombstones",
        "held_blobs", "categories",
    ]

    /// The counters that no refused request may move.
    private func counters(_ daemon: DaemonProcess) throws -> [Int] {
        let answer = try daemon.request("GET", "/v1/stats")
        return try Self.counters.map { name in
            guard let text = answer.member(name), let number = Int(text) else {
                throw TestFailure("no \(name) in \(answer.text)")
            }
            return number
        }
    }

    /// A daemon with a notification `n` of the owner `u`, whose actions are `yes` and `no`.
    private func prepared() throws -> DaemonProcess {
        let daemon = try DaemonProcess()
        let document = """
            {"owner":"u","message":"m","group":"g","actions":[{"identifier":"yes","title":"Y"},\
            {"identifier":"no","title":"N"}]}
            """
        let answer = try daemon.request(
            "PUT", "/v1/notifications/n", ["Content-Type": "application/json"],
            body: Array(document.utf8))
        guard answer.status == 201 else { throw TestFailure(answer.text) }
        return daemon
    }

    /// Sends each request, in both dialects, and compares the codes and the counters.
    private func check(_ refused: [Refused]) throws {
        let daemon = try prepared()
        for dialect in TestDialect.allCases {
            let client = try ResourceClient(dialect, daemon)
            for one in refused {
                let before = try counters(daemon)
                let answer = try client.perform(one.call)
                let shown = String(one.call.body.prefix(100).map { Character(Unicode.Scalar($0)) })
                #expect(
                    answer.code == one.code,
                    "\(dialect) \(one.call.method) \(one.call.target) \(shown): \(answer.status) \(answer.text)"
                )
                #expect(
                    try counters(daemon) == before,
                    "\(dialect) \(one.call.method) \(one.call.target) \(shown) changed something")
            }
        }
    }

    private static func put(_ document: String, _ code: String) -> Refused {
        Refused(ResourceCall(.put, "/v1/notifications/x", document), code)
    }

    private static func put(_ document: [UInt8], _ code: String) -> Refused {
        Refused(ResourceCall(.put, "/v1/notifications/x", bytes: document), code)
    }

    private static func patch(_ document: String, _ code: String) -> Refused {
        Refused(
            ResourceCall(
                .patch, "/v1/notifications/n", document, type: "application/merge-patch+json"),
            code)
    }

    private static func get(_ target: String, _ code: String) -> Refused {
        Refused(ResourceCall(.get, target), code)
    }

    private static func nested(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }

    @Test("Texts that are no JSON, or not the kind of it that is taken")
    func json() throws {
        var refused: [Refused] = []
        for text in [
            "", " ", "{", #"{"message":"a""#, #"{"message":"a",}"#, "{} {}", #"{"data":NaN}"#,
            #"{"data":01}"#, #"{"data":"\ud800"}"#, #"{"data":[1,]}"#, #"{"message":'a'}"#,
            "// a\n{}", #"{"data":+1}"#, "{\"message\":\"a\nb\"}", "nul",
        ] {
            refused.append(Self.put(text, "bad_json"))
            refused.append(Self.patch(text, "bad_json"))
        }
        for text in [
            #"{"message":"a","message":"b"}"#, #"{"data":{"a":1,"a":1}}"#,
            #"{"data":[{"b":{"a":1,"a":2}}]}"#, #"{"data":{"a":1,"\u0061":1}}"#,
        ] {
            refused.append(Self.put(text, "duplicate_key"))
            refused.append(Self.patch(text, "duplicate_key"))
        }
        // The object is one level.
        refused.append(Self.put(#"{"data":\#(Self.nested(64))}"#, "too_deep"))
        refused.append(Self.patch(#"{"data":\#(Self.nested(64))}"#, "too_deep"))
        let bad: [UInt8] = [0xFF]
        refused.append(Self.put(Array("{\"mess".utf8) + bad + Array("\":1}".utf8), "not_utf8"))
        refused.append(
            Self.put(Array("{\"message\":\"".utf8) + bad + Array("\"}".utf8), "not_utf8"))
        refused.append(Self.put(Array("{}".utf8) + bad, "not_utf8"))
        refused.append(
            Self.put(
                Array("{\"message\":\"".utf8) + [0xC0, 0x80] + Array("\"}".utf8),
                "not_utf8"))
        for text in ["[]", "\"a\"", "1", "null", "true", "[{}]"] {
            refused.append(Self.put(text, "bad_document"))
            refused.append(Self.patch(text, "bad_document"))
        }
        try check(refused)
    }

    @Test("64 levels are taken")
    func deepest() throws {
        let daemon = try prepared()
        for dialect in TestDialect.allCases {
            let client = try ResourceClient(dialect, daemon)
            let call = ResourceCall(
                .put, "/v1/notifications/deep", #"{"data":\#(Self.nested(63))}"#)
            let answer = try client.perform(call)
            #expect(answer.status < 300, "\(answer.text)")
        }
    }

    @Test("Members of the wrong type, unknown ones, and those that cannot be changed")
    func members() throws {
        var refused: [Refused] = []
        for text in [
            #"{"actions":{}}"#, #"{"read":"true"}"#, #"{"message":1}"#, #"{"title":1}"#,
            #"{"actions":[1]}"#,
            #"{"actions":[{"identifier":"a"}]}"#, #"{"display_ttl":"1"}"#, #"{"priority":1}"#,
            #"{"group":[]}"#, #"{"category":{}}"#, #"{"read":1}"#, #"{"expires_at":1}"#,
            #"{"actions":[{"title":"A"}]}"#,
            #"{"actions":[{"identifier":"a","title":"A","foreground":1}]}"#,
        ] {
            refused.append(Self.put(text, "bad_document"))
            refused.append(Self.patch(text, "bad_document"))
        }
        refused.append(Self.put(#"{"parts":{}}"#, "bad_document"))
        refused.append(Self.put(#"{"parts":[{}]}"#, "bad_document"))
        for text in [
            #"{"mesage":"a"}"#, #"{"Message":"a"}"#, #"{"":1}"#,
            #"{"actions":[{"identifier":"a","title":"b","x":1}]}"#,
        ] {
            refused.append(Self.put(text, "unknown_member"))
            refused.append(Self.patch(text, "unknown_member"))
        }
        for member in ["id", "owner", "app", "revision", "parts", "created_at"] {
            refused.append(Self.patch(#"{"\#(member)":null}"#, "immutable_member"))
            refused.append(Self.patch(#"{"\#(member)":"n"}"#, "immutable_member"))
        }
        refused.append(Self.put(#"{"revision":1}"#, "immutable_member"))
        refused.append(Self.put(#"{"created_at":"2020-01-01T00:00:00Z"}"#, "immutable_member"))
        refused.append(Self.put(#"{"id":"y"}"#, "immutable_member"))
        refused.append(Self.put(#"{"responses":[]}"#, "immutable_member"))
        refused.append(Self.put(#"{"id":"a/b"}"#, "bad_id"))
        refused.append(Self.put(#"{"owner":1}"#, "bad_document"))
        refused.append(Self.patch(#"{"ttl":1}"#, "unknown_member"))
        try check(refused)
    }

    @Test("Values that break their rules")
    func values() throws {
        var refused: [Refused] = []
        func both(_ document: String, _ code: String) {
            refused.append(Self.put(document, code))
            refused.append(Self.patch(document, code))
        }
        func action(_ identifier: String, _ title: String = "t") -> String {
            #"{"identifier":"\#(identifier)","title":"\#(title)"}"#
        }
        both(#"{"action_state":"gone"}"#, "bad_action_state")
        both(#"{"priority":"urgent"}"#, "bad_priority")
        for value in ["-1", "2592001", "1.5", "1e3", "99999999999999999999"] {
            both(#"{"display_ttl":\#(value)}"#, "bad_display_ttl")
        }
        let eleven = (0..<11).map { action("a\($0)") }.joined(separator: ",")
        both(#"{"actions":[\#(eleven)]}"#, "bad_actions")
        both(#"{"actions":[\#(action("a")),\#(action("a"))]}"#, "bad_actions")
        both(#"{"actions":[\#(action("default"))]}"#, "bad_actions")
        both(#"{"actions":[\#(action("dismiss"))]}"#, "bad_actions")
        both(#"{"actions":[\#(action(""))]}"#, "bad_actions")
        both(#"{"actions":[\#(action("a/b"))]}"#, "bad_actions")
        both(#"{"actions":[\#(action("a", String(repeating: "t", count: 257)))]}"#, "bad_actions")
        both(#"{"platforms":"ios"}"#, "bad_document")
        both(#"{"platforms":[1]}"#, "bad_document")
        both(#"{"platforms":[""]}"#, "bad_platform")
        both(#"{"platforms":["a/b"]}"#, "bad_platform")
        both(#"{"platforms":["a","a"]}"#, "bad_platform")
        both(#"{"target_host":""}"#, "bad_target_host")
        both(#"{"target_host":"a\u0007"}"#, "bad_target_host")
        both(#"{"category":"NONE"}"#, "unknown_category")
        both(#"{"category":""}"#, "bad_category")
        both(#"{"category":"\#(String(repeating: "c", count: 65))"}"#, "bad_category")
        both(#"{"group":"\#(String(repeating: "c", count: 129))"}"#, "bad_group")
        both(#"{"group":"a\u0000b"}"#, "bad_group")
        both(#"{"message":"\#(String(repeating: "m", count: 4_097))"}"#, "bad_message")
        both(#"{"message":"a\u0000"}"#, "bad_message")
        both(#"{"rich_type":"a\nb"}"#, "bad_rich_type")
        both(#"{"title":"a\nb"}"#, "bad_title")
        both(#"{"title":"\#(String(repeating: "t", count: 257))"}"#, "bad_title")
        refused.append(Self.put(#"{"title":""}"#, "bad_title"))
        refused.append(Self.put(#"{"message":"m","app":"a/b"}"#, "bad_app"))
        refused.append(Self.put(#"{"message":"m","app":""}"#, "bad_app"))
        both(#"{"data":"\#(String(repeating: "d", count: 16_383))"}"#, "bad_data")
        both(#"{"expires_at":"2001-01-01T00:00:00Z"}"#, "bad_expiry")
        both(#"{"expires_at":"9999-01-01T00:00:00Z"}"#, "bad_expiry")
        both(#"{"expires_at":"tomorrow"}"#, "bad_expiry")
        refused.append(Self.patch(#"{"expires_at":null}"#, "bad_expiry"))
        for value in ["0", "2592001", "1e3", "9223372036854775807"] {
            refused.append(Self.put(#"{"ttl":\#(value)}"#, "bad_ttl"))
        }
        refused.append(
            Self.put(#"{"ttl":1,"expires_at":"2030-01-01T00:00:00Z"}"#, "bad_expiry"))
        refused.append(Self.put(#"{"owner":"\u0000"}"#, "bad_owner"))
        refused.append(
            Self.put(#"{"owner":"\#(String(repeating: "o", count: 256))"}"#, "bad_owner"))
        refused.append(Self.put(#"{"owner":""}"#, "bad_owner"))
        try check(refused)
    }

    @Test("Parts and digests that are not there, or not what they are said to be")
    func parts() throws {
        let none = String(repeating: "0", count: 64)
        let target = "/v1/notifications/x"
        func form(
            _ document: String?, _ files: [(name: String, type: String?, bytes: [UInt8])],
            _ code: String
        ) -> Refused {
            Refused(
                ResourceCall(
                    .put, target, bytes: multipartBody(document, files: files),
                    type: multipartType), code)
        }
        let many = (0..<33).map { (name: "f\($0)", type: String?.none, bytes: [UInt8(1)]) }
        let names = (0..<33).map { #"{"name":"p\#($0)","digest":"sha256:\#(none)"}"# }
        try check([
            Self.put(#"{"parts":[{"name":"a"}]}"#, "part_missing"),
            Self.put(#"{"parts":[{"name":"a","digest":"sha256:\#(none)"}]}"#, "unknown_digest"),
            Self.put(#"{"parts":[{"name":"a","digest":"sha256:0"}]}"#, "bad_digest"),
            Self.put(#"{"parts":[{"name":"a/b","digest":"sha256:\#(none)"}]}"#, "bad_part"),
            Self.put(#"{"parts":[{"name":""}]}"#, "bad_part"),
            Self.put(#"{"parts":[{"name":"a","size":1}]}"#, "unknown_member"),
            Self.put(#"{"parts":[{"name":"a"},{"name":"a"}]}"#, "bad_part"),
            Self.put(#"{"parts":[\#(names.joined(separator: ","))]}"#, "too_many_parts"),
            Self.put(
                #"{"parts":[{"name":"a","media_type":"x","digest":"sha256:\#(none)"}]}"#,
                "bad_media_type"),
            form(#"{"parts":[{"name":"a"}]}"#, [], "part_missing"),
            form(#"{"parts":[]}"#, [("a", nil, [1])], "part_unexpected"),
            form(
                #"{"parts":[{"name":"a","digest":"sha256:\#(none)"}]}"#, [("a", nil, [1])],
                "digest_mismatch"),
            form("{}", many, "too_many_parts"),
            form("{}", [("a", nil, [1]), ("a", nil, [1])], "bad_multipart"),
            form("{}", [("notification", nil, Array("{}".utf8))], "bad_multipart"),
            form(nil, [("a", nil, [1])], "bad_multipart"),
            form("{", [("a", nil, [1])], "bad_json"),
            form("{}", [("a", "x", [1])], "bad_media_type"),
            form("{}", [("a/b", nil, [1])], "bad_part"),
            form(String(repeating: " ", count: 65_537), [], "payload_too_large"),
            Refused(
                ResourceCall(.put, "/v1/blobs/sha256:\(none)", "bytes", type: "image/png"),
                "digest_mismatch"),
            Refused(ResourceCall(.put, "/v1/blobs/sha256:0", "bytes"), "bad_digest"),
            Refused(ResourceCall(.put, "/v1/blobs/sha256:\(none)?ttl=0", "bytes"), "bad_ttl"),
            Refused(ResourceCall(.put, "/v1/blobs/sha256:\(none)?ttl=x", "bytes"), "bad_ttl"),
            Refused(ResourceCall(.post, "/v1/blobs?ttl=0", "bytes"), "bad_ttl"),
            Refused(ResourceCall(.post, "/v1/blobs?ttl=x", "bytes"), "bad_ttl"),
            Refused(ResourceCall(.post, "/v1/blobs?owner=a", "bytes"), "bad_query"),
            Refused(ResourceCall(.post, "/v1/blobs/", "bytes"), "not_found"),
            Refused(ResourceCall(.post, "/v1/blobs", "bytes", condition: .absent), "malformed"),
            Refused(ResourceCall(.get, "/v1/blobs"), "method_not_allowed"),
            Refused(ResourceCall(.put, "/v1/blobs"), "method_not_allowed"),
            Refused(ResourceCall(.patch, "/v1/blobs"), "method_not_allowed"),
            Refused(ResourceCall(.delete, "/v1/blobs"), "method_not_allowed"),
        ])
    }

    @Test("Multipart bodies that are malformed")
    func multipart() throws {
        func form(_ body: String, type: String = multipartType) -> Refused {
            Refused(
                ResourceCall(.put, "/v1/notifications/x", body, type: type), "bad_multipart")
        }
        let head = "--b\r\nContent-Disposition: form-data; name=\"notification\"\r\n\r\n"
        let good = "\(head){}\r\n--b--\r\n"
        let long = String(repeating: "b", count: 71)
        try check([
            form(good, type: "multipart/form-data"),
            form(good, type: "multipart/form-data; boundary=\"b \""),
            form(good, type: "multipart/form-data; boundary=\(long)"),
            form(good, type: "multipart/form-data; boundary=b; boundary=b"),
            form("\(head){}\r\n"), form(""), form("\(head){}\r\n--b"), form("\(head){}\r\n--b-"),
            form("--b\nContent-Disposition: form-data; name=\"notification\"\n\n{}\n--b--"),
            form("--b\r\nContent-Disposition: form-data\r\n\r\n{}\r\n--b--\r\n"),
            form("--b\r\n\r\n{}\r\n--b--\r\n"),
            form(good + String(repeating: "e", count: 4_200)),
        ])
    }

    @Test("Places, limits and filters that mean nothing")
    func queries() throws {
        let daemon = try prepared()
        let page = try daemon.request("GET", "/v1/users/u/changes")
        let cursor = try #require(page.member("next"))
        let other = try DaemonProcess().request("GET", "/v1/users/u/changes")
        let otherCursor = try #require(other.member("next"))
        var flipped = Array(cursor.utf8)
        flipped[12] = flipped[12] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        let changes = "/v1/users/u/changes"
        let history = "/v1/users/u/notifications"
        var refused = [
            Self.get("/v1/users/v/changes?since=\(cursor)", "bad_cursor"),
            Self.get("\(changes)?since=\(otherCursor)", "bad_cursor"),
            Self.get("\(changes)?since=\(String(decoding: flipped, as: UTF8.self))", "bad_cursor"),
            Self.get("\(changes)?since=\(cursor.dropLast())", "bad_cursor"),
            Self.get("\(changes)?since=", "bad_cursor"),
            Self.get("\(changes)?since=1", "bad_cursor"),
            Self.get("\(history)?before=\(cursor)", "bad_cursor"),
            Self.get("\(changes)?since=0&since=0", "bad_query"),
            Self.get("\(changes)?from=0", "bad_query"),
            Self.get("\(changes)?since=%4", "bad_query"),
            Self.get("\(history)?read=1", "bad_query"),
            Self.get("\(history)?action_state=gone", "bad_action_state"),
            Self.get("\(history)?group=\(String(repeating: "g", count: 129))", "bad_group"),
            Self.get("/v1/notifications/n/envelope?platform=sms", "bad_platform"),
            Self.get("/v1/notifications/n/envelope", "bad_platform"),
            Self.get("/v1/notifications/n/envelope?platform=apns&style=loud", "bad_query"),
            Self.get("/v1/notifications/n?x=1", "bad_query"),
            Self.get("/v1/users//changes", "not_found"),
            Self.get("/v1/users/\(String(repeating: "o", count: 256))/changes", "bad_owner"),
            Self.get("/v1/users/a%00b/changes", "bad_owner"),
            Self.get("/v1/users/%FF/changes", "bad_owner"),
            Self.get("/v1/categories/a%2Fb", "bad_category"),
            Self.get("/v1/categories/none", "not_found"),
        ]
        for limit in ["0", "1001", "-1", "x", "", "1.0", "18446744073709551616"] {
            refused.append(Self.get("\(changes)?limit=\(limit)", "bad_limit"))
            refused.append(Self.get("\(history)?limit=\(limit)", "bad_limit"))
        }
        for (query, code) in [
            ("read=yes", "bad_query"), ("read=", "bad_query"), ("group=", "bad_group"),
            ("app=", "bad_app"), ("app=a%2Fb", "bad_app"), ("app=a&app=b", "bad_query"),
            ("action_state=gone", "bad_action_state"), ("unread=true", "bad_query"),
            ("status=gone", "bad_query"), ("status=", "bad_query"),
            ("status=deleted&read=true", "bad_query"), ("status=deleted&group=g", "bad_query"),
            ("platform=", "bad_platform"), ("platform=a%2Fb", "bad_platform"),
            ("target_host=", "bad_target_host"), ("target_host=%07", "bad_target_host"),
        ] {
            refused.append(Self.get("\(changes)?\(query)", code))
            refused.append(Self.get("\(history)?\(query)", code))
        }
        for wait in ["61", "x", "-1", "0.5"] {
            refused.append(Self.get("\(changes)?wait=\(wait)", "bad_wait"))
        }
        // In this daemon's store, whose cursors these are.
        for dialect in TestDialect.allCases {
            let client = try ResourceClient(dialect, daemon)
            let before = try counters(daemon)
            for one in refused {
                let answer = try client.perform(one.call)
                #expect(
                    answer.code == one.code, "\(dialect) \(one.call.target): \(answer.text)")
            }
            #expect(try counters(daemon) == before)
        }
    }

    @Test("Changes whose circumstances forbid them")
    func circumstances() throws {
        let target = "/v1/notifications/n"
        let responses = "/v1/notifications/n/responses"
        func respond(_ document: String, _ code: String) -> Refused {
            Refused(ResourceCall(.post, responses, document), code)
        }
        func deleteGroup(
            _ query: String, _ code: String, _ condition: Call.Condition = .none
        ) -> Refused {
            let target = "/v1/users/u/notifications\(query)"
            return Refused(ResourceCall(.delete, target, condition: condition), code)
        }
        let device = String(repeating: "d", count: 65)
        let large = String(repeating: "d", count: 65_537 - 14)
        try check([
            Refused(
                ResourceCall(.patch, target, "{}", condition: .revision(1_000)),
                "precondition_failed"),
            Refused(ResourceCall(.put, target, "{}", condition: .absent), "precondition_failed"),
            Refused(
                ResourceCall(.put, "/v1/notifications/x", "{}", condition: .exists),
                "precondition_failed"),
            Refused(
                ResourceCall(.delete, target, condition: .revision(1_000)), "precondition_failed"),
            Refused(ResourceCall(.delete, "/v1/notifications/x"), "not_found"),
            Refused(ResourceCall(.patch, "/v1/notifications/x", "{}"), "not_found"),
            Refused(
                ResourceCall(.patch, target, "{}", type: "text/plain"), "unsupported_media_type"),
            Refused(
                ResourceCall(.put, target, "{}", type: "text/plain"), "unsupported_media_type"),
            Refused(
                ResourceCall(.put, target, "{}", type: "application/merge-patch+json"),
                "unsupported_media_type"),
            respond(#"{"action":"maybe"}"#, "unknown_action"),
            respond(#"{"action":"dismiss","dismissed":false}"#, "bad_response"),
            respond(#"{}"#, "bad_document"),
            respond(#"{"action":"yes","key":"\#(device)"}"#, "bad_response"),
            respond(#"{"action":"yes","x":1}"#, "unknown_member"),
            Refused(
                ResourceCall(
                    .post, "/v1/notifications/x/responses", #"{"action":"default"}"#),
                "not_found"),
            Refused(
                ResourceCall(.patch, target, #"{"read":true}"#, device: device), "bad_device"),
            Refused(
                ResourceCall(.patch, target, #"{"read":true}"#, device: "a/b"), "bad_device"),
            Refused(ResourceCall(.delete, target, device: device), "bad_device"),
            Self.put(#"{"message":"\#(large)"}"#, "payload_too_large"),
            Refused(
                ResourceCall(.patch, "/v1/users/u/notifications", #"{"read":true}"#), "bad_query"),
            Refused(
                ResourceCall(.patch, "/v1/users/u/notifications?group=g", #"{"owner":"v"}"#),
                "immutable_member"),
            Refused(
                ResourceCall(.patch, "/v1/users/u/notifications?group=g", #"{"category":"X"}"#),
                "unknown_category"),
            Refused(
                ResourceCall(
                    .patch, "/v1/users/u/notifications?group=g", "{}", condition: .exists),
                "malformed"),
            deleteGroup("", "bad_query"), deleteGroup("?group=", "bad_group"),
            deleteGroup("?group=g&app=", "bad_app"), deleteGroup("?app=mail", "bad_query"),
            deleteGroup("?group=g&read=true", "bad_query"),
            deleteGroup("?group=g", "malformed", .exists),
            Refused(
                ResourceCall(.put, "/v1/categories/c", #"{"actions":[],"options":["loud"]}"#),
                "bad_options"),
            Refused(ResourceCall(.put, "/v1/categories/c", "{}"), "bad_document"),
            Refused(ResourceCall(.post, "/v1/categories/c", "{}"), "method_not_allowed"),
            Refused(ResourceCall(.get, "/v1/notifications:batch"), "method_not_allowed"),
        ])
    }

    @Test("A key that was used for another action is a conflict")
    func conflict() throws {
        let daemon = try prepared()
        for dialect in TestDialect.allCases {
            let client = try ResourceClient(dialect, daemon)
            let key = "k-\(dialect)"
            func respond(_ action: String) throws -> ResourceReplySeen {
                try client.perform(
                    ResourceCall(
                        .post, "/v1/notifications/n/responses",
                        #"{"action":"\#(action)","key":"\#(key)"}"#))
            }
            #expect(try respond("yes").status == 201)
            let before = try counters(daemon)
            let conflict = try respond("no")
            #expect(conflict.status == 409 && conflict.code == "response_conflict")
            #expect(try respond("yes").status == 200)
            #expect(try counters(daemon) == before)
        }
    }

    @Test("A push that its service would not take, and an alert without words")
    func envelopes() throws {
        let daemon = try prepared()
        for dialect in TestDialect.allCases {
            let client = try ResourceClient(dialect, daemon)
            let long = String(repeating: "m", count: 4_096)
            _ = try client.perform(
                ResourceCall(.put, "/v1/notifications/long", #"{"message":"\#(long)"}"#))
            _ = try client.perform(ResourceCall(.put, "/v1/notifications/mute", #"{"data":1}"#))
            let before = try counters(daemon)
            let query = "envelope?platform=apns&style="
            let tooLarge = try client.perform(
                ResourceCall(.get, "/v1/notifications/long/\(query)silent"))
            #expect(tooLarge.status == 422 && tooLarge.code == "envelope_too_large")
            #expect(jsonMember(tooLarge.text, "limit") == "4096")
            let mute = try client.perform(
                ResourceCall(.get, "/v1/notifications/mute/\(query)alert"))
            #expect(mute.status == 422 && mute.code == "no_message")
            #expect(try counters(daemon) == before)
        }
    }

    @Test("All that a document may say fits a record")
    func largest() throws {
        let daemon = try prepared()
        for dialect in TestDialect.allCases {
            let client = try ResourceClient(dialect, daemon)
            let id = "r-\(dialect)"
            let data = String(repeating: "d", count: 16_000)
            let message = String(repeating: "m", count: 4_096)
            let actions = (0..<10).map {
                #"{"identifier":"\#($0)","title":"\#(String(repeating: "t", count: 250))"}"#
            }
            let digest = PayloadDigestText.of([7])
            _ = try client.perform(
                ResourceCall(.put, "/v1/blobs/sha256:\(digest)", bytes: [7], type: nil))
            let type = "a/b;c=" + String(repeating: "x", count: 249)
            let parts = (10..<42).map {
                #"{"name":"\#(String(repeating: "p", count: 62))\#($0)","media_type":"\#(type)","digest":"sha256:\#(digest)"}"#
            }
            let document = """
                {"message":"\(message)","data":"\(data)","actions":[\(actions.joined(separator: ","))],\
                "parts":[\(parts.joined(separator: ","))]}
                """
            let made = try client.perform(
                ResourceCall(.put, "/v1/notifications/\(id)", document))
            #expect(made.status == 201, "\(made.text)")
        }
    }

    @Test("What calls do not have is refused, and the connection goes on")
    func overCall() throws {
        let daemon = try prepared()
        try daemon.put("1", [1])
        let before = try counters(daemon)
        let client = try daemon.connectBinary()
        for (method, target, code) in [
            (Call.Method.get, "/v1/notifications/1/payload", "not_found"),
            (.put, "/v1/notifications/1/payload", "not_found"), (.get, "/metrics", "not_found"),
            (.post, "/v1/stats", "method_not_allowed"),
            (.patch, "/v1/notifications", "method_not_allowed"),
            (.get, "/healthz", "not_found"), (.get, "/", "not_found"),
        ] {
            // A body, where there should be none, is thrown away.
            for body in ["", "{}"] {
                let answer = try client.exchange(callFrame(method, target, body: body))
                #expect(answer.code == (body.isEmpty ? code : answer.code), "\(target)")
                #expect(answer.status >= 400 && answer.frame.headByteCount == 0)
            }
        }
        #expect(
            try client.exchange(callFrame(.get, "/v1/notifications/1", body: "x")).status == 400)
        #expect(try client.exchange(getFrame("1")).body == [1])
        #expect(try counters(daemon) == before)
    }

    @Test("Fields that are given twice, and methods that a resource does not have, over HTTP")
    func overHTTP() throws {
        let daemon = try prepared()
        let client = try daemon.connect()
        let before = try counters(daemon)
        client.send(
            "DELETE /v1/notifications/n HTTP/1.1\r\nHost: b\r\nBlobd-Device: a\r\nBlobd-Device: a\r\n\r\n"
        )
        #expect(try client.answer().code == "malformed")
        let device = try client.request(
            "DELETE", "/v1/notifications/n", ["Blobd-Device": "a\u{85}b"])
        #expect(device.code == "bad_device")
        let post = try client.request("POST", "/v1/categories/c", body: [])
        #expect(post.status == 405 && post["Allow"] == "GET, HEAD, PUT, DELETE")
        let digest = String(repeating: "0", count: 64)
        let patch = try client.request("PATCH", "/v1/blobs/sha256:\(digest)", body: [])
        #expect(patch.status == 405 && patch["Allow"] == "GET, HEAD, PUT")
        let coded = try client.request(
            "PUT", "/v1/notifications/x",
            ["Content-Type": "application/json", "Content-Encoding": "br"], body: [1])
        #expect(coded.code == "unsupported_content_coding")
        #expect(try counters(daemon) == before)
    }
}
