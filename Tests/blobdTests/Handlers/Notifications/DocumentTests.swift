import BlobJSON
import BlobProtocol
import Notifications
import TestSupport
import Testing

@testable import BlobStore
@testable import BlobServer
@testable import blobd

/// The documents of both dialects, without a daemon.
@Suite struct DocumentTests {
    private static let digest = "sha256:" + String(repeating: "ab", count: 32)

    /// Reads a notification's document.
    private static func notification(
        _ text: String, id: NotificationID? = nil
    ) throws(ProtocolError) -> NotificationDocument {
        try NotificationDocument(parsing: Array(text.utf8).span.bytes, id: id)
    }

    private static func patch(_ text: String) throws(ProtocolError) -> NotificationPatch {
        try PatchDocument.parse(Array(text.utf8).span.bytes)
    }

    private static func code(_ body: () throws(ProtocolError) -> Void) -> ErrorCode? {
        do throws(ProtocolError) {
            try body()
            return nil
        } catch {
            return error.code
        }
    }

    @Test("Every member of a notification is read")
    func notification() throws {
        let document = try Self.notification(
            """
            {"id":"n","owner":"u","message":"m\\n","rich_type":"r","category":"c","group":"g",
             "actions":[{"identifier":"a","title":"A"},
                        {"identifier":"b","title":"B","foreground":true,"destructive":true,
                         "authentication_required":true}],
             "priority":"low","display_ttl":30,"data":{ "x" : 1.0 },"read":true,
             "action_state":"snoozed","ttl":60,
             "parts":[{"name":"p","digest":"\(Self.digest)"},
                      {"name":"q","media_type":"image/png","digest":null}]}
            """)
        #expect(document.id == "n" && document.lifetime.ttlSeconds == 60)
        let draft = document.draft
        #expect(draft.owner == "u" && draft.message == "m\n" && draft.richType == "r")
        #expect(document.lifetime.expiryMilliseconds == nil)
        let details = document.draft.details
        #expect(details.category == "c" && details.group == "g" && details.priority == .low)
        #expect(details.displayTTLSeconds == 30 && details.isRead)
        #expect(details.actionState == .snoozed)
        #expect(details.data?.bytes == Array(#"{"x":1.0}"#.utf8))
        #expect(
            details.actions == [
                NotificationAction(identifier: "a", title: "A"),
                NotificationAction(
                    identifier: "b", title: "B", isForeground: true, isDestructive: true,
                    requiresAuthentication: true),
            ])
        #expect(
            document.parts == [
                NotificationDocument.Part(
                    name: "p", mediaType: nil, digest: Digest(Self.digest)),
                NotificationDocument.Part(name: "q", mediaType: "image/png", digest: nil),
            ])
    }

    @Test("null is the same as absent, and nothing is needed")
    func absent() throws {
        let members = [
            "owner", "message", "rich_type", "category", "actions", "group", "priority",
            "display_ttl", "data", "read", "action_state", "ttl", "expires_at", "parts", "id",
        ]
        let nulls = members.map { "\"\($0)\":null" }.joined(separator: ",")
        for text in ["{}", "{\(nulls)}"] {
            let document = try Self.notification(text, id: "path")
            #expect(document.id == "path")
            #expect(document.draft.details == NotificationDetails())
            #expect(
                document.draft.owner == nil && document.parts == nil
                    && document.lifetime.ttlSeconds == nil)
        }
        #expect(try Self.notification(#"{"actions":[],"parts":[]}"#).draft.details.actions == [])
    }

    @Test("A patch keeps what it does not say, and clears what is null")
    func patch() throws {
        let nothing = try Self.patch("{}")
        #expect(nothing.message == .keep && nothing.isRead == .keep && nothing.data == .keep)
        #expect(nothing.expiresAt == .keep && nothing.device == nil)
        let clearing = try Self.patch(
            """
            {"message":null,"rich_type":null,"category":null,"actions":null,"group":null,
             "priority":null,"display_ttl":null,"data":null,"read":null,"action_state":null}
            """)
        #expect(clearing.message == .clear && clearing.richType == .clear)
        #expect(clearing.category == .clear && clearing.actions == .clear)
        #expect(clearing.group == .clear && clearing.priority == .clear)
        #expect(clearing.displayTTLSeconds == .clear && clearing.data == .clear)
        #expect(clearing.isRead == .clear && clearing.actionState == .clear)
        let setting = try Self.patch(
            """
            {"message":"m","rich_type":"r","category":"c","actions":[],"group":"g",
             "priority":"low","display_ttl":1,"data":{"a":null},"read":true,
             "action_state":"dismissed","expires_at":"1970-01-01T00:00:01Z"}
            """)
        #expect(setting.message == .set("m") && setting.richType == .set("r"))
        #expect(setting.category == .set("c") && setting.actions == .set([]))
        #expect(setting.group == .set("g") && setting.priority == .set(.low))
        #expect(setting.displayTTLSeconds == .set(1) && setting.isRead == .set(true))
        #expect(setting.data == .set(.object([JSONMember("a", .null)])))
        #expect(setting.actionState == .set(.dismissed))
        #expect(setting.expiresAt == .set(Timestamp(milliseconds: 1_000)))
    }

    @Test("A response names its action, and stays on screen when it says so")
    func responses() throws {
        func response(_ text: String) throws(ProtocolError) -> ActionResponse {
            try ResponseDocument.parse(Array(text.utf8).span.bytes, id: "n")
        }
        let plain = try response(#"{"action":"default"}"#)
        #expect(plain.action == "default" && plain.key == nil && !plain.staysOnScreen)
        #expect(plain.id == "n" && plain.device == nil)
        let full = try response(#"{"action":"a","key":"k","dismissed":false}"#)
        #expect(full.key == "k" && full.staysOnScreen)
        #expect(try !response(#"{"action":"a","dismissed":true}"#).staysOnScreen)
        let forwarded = try response(#"{"action":"a","extension":"dismiss_and_forward"}"#)
        #expect(forwarded.contentExtension == .dismissAndForward && !forwarded.staysOnScreen)
        let stays = try response(#"{"action":"a","extension":"do_not_dismiss"}"#)
        #expect(stays.contentExtension == .doNotDismiss && stays.staysOnScreen)
    }

    @Test("A category comes back as it was answered")
    func categories() throws {
        let category = Category(
            name: "c\"",
            actions: [NotificationAction(identifier: "a", title: "A", isDestructive: true)])
        var out: [UInt8] = []
        CategoryDocument.append(category, to: &out)
        #expect(
            String(decoding: out, as: UTF8.self)
                == #"{"name":"c\"","actions":[{"identifier":"a","title":"A","foreground":false,"destructive":true,"authentication_required":false}]}"#
        )
        #expect(try CategoryDocument.parse(out.span.bytes, name: "c\"", app: nil) == category)
        let ofApp = Category(name: "c", actions: [], app: "mail")
        var answered: [UInt8] = []
        CategoryDocument.append(ofApp, to: &answered)
        #expect(answered == Array(#"{"name":"c","app":"mail","actions":[]}"#.utf8))
        let again = try CategoryDocument.parse(answered.span.bytes, name: "c", app: "mail")
        #expect(again == ofApp)
        let other = Self.code { () throws(ProtocolError) in
            _ = try CategoryDocument.parse(answered.span.bytes, name: "c", app: nil)
        }
        #expect(other == .immutableMember)
        func parsed(_ text: String) throws(ProtocolError) -> Category {
            try CategoryDocument.parse(Array(text.utf8).span.bytes, name: "c", app: nil)
        }
        let all = CategoryOptions.known.map { "\"\($0.name)\"" }.joined(separator: ",")
        let optional = try parsed(#"{"name":"c","revision":7,"actions":[],"options":[\#(all)]}"#)
        #expect(optional.options.rawValue == 31)
        answered = []
        CategoryDocument.append(optional, to: &answered)
        #expect(
            String(decoding: answered, as: UTF8.self)
                == #"{"name":"c","actions":[],"options":[\#(all)]}"#)
        #expect(try parsed(#"{"actions":[],"options":null}"#).options == [])
        var list: [UInt8] = []
        PageDocument.append(CategoryPage(categories: [], next: nil), to: &list)
        #expect(list == Array(#"{"categories":[]}"#.utf8))
    }

    @Test("A record's document has every member, and is JSON")
    func record() throws {
        var record = Record(
            id: "n", owner: "u\"", message: nil, richType: nil,
            createdAt: Timestamp(milliseconds: 0), expiresAt: Timestamp(milliseconds: 1_000),
            revision: 7, parts: [])
        func text() -> String {
            var out: [UInt8] = []
            RecordDocument.append(record, to: &out)
            return String(decoding: out, as: UTF8.self)
        }
        let start =
            #"{"id":"n","owner":"u\"","created_at":"1970-01-01T00:00:00.000Z","expires_at":"1970-01-01T00:00:01.000Z","revision":7,"parts":[]"#
        #expect(text() == start + #","priority":"high","read":false,"action_state":"none"}"#)
        record.app = "mail"
        record.title = "\"T\""
        let named =
            #"{"id":"n","owner":"u\"","app":"mail","title":"\"T\"","created_at":"1970-01-01T00:00:00.000Z","expires_at":"1970-01-01T00:00:01.000Z","revision":7,"parts":[]"#
        #expect(text() == named + #","priority":"high","read":false,"action_state":"none"}"#)
        record.app = nil
        record.title = nil
        record.details.category = "c"
        record.details.actions = []
        record.details.group = "g"
        record.details.priority = .low
        record.details.displayTTLSeconds = 30
        record.details.data = JSONFragment(.array([.number(JSONNumber(1))]))
        record.details.isRead = true
        record.details.actionState = .activated
        record.details.device = "phone"
        record.details.responses = [
            RecordedResponse(
                action: "a", key: "k", device: "d", at: Timestamp(milliseconds: 5), revision: 6,
                staysOnScreen: true),
            RecordedResponse(
                action: "default", key: nil, device: nil, at: Timestamp(milliseconds: 6),
                revision: 7, staysOnScreen: false, contentExtension: .dismissAndForward),
        ]
        #expect(
            text() == start
                + #","category":"c","actions":[],"group":"g","priority":"low","display_ttl":30,"data":[1],"read":true,"action_state":"activated","device":"phone","responses":["#
                + #"{"action":"a","key":"k","device":"d","at":"1970-01-01T00:00:00.005Z","revision":6,"dismissed":false},"#
                + #"{"action":"default","at":"1970-01-01T00:00:00.006Z","revision":7,"dismissed":true,"extension":"dismiss_and_forward"}]}"#
        )
        _ = try JSONValue.parse(Array(text().utf8).span.bytes)
    }

    @Test("A part has the type that the document says, else its file's")
    func files() throws {
        let document = try Self.notification(
            "{\"parts\":[{\"name\":\"a\",\"media_type\":\"image/png\",\"digest\":\"\(Self.digest)\"},{\"name\":\"b\",\"digest\":\"\(Self.digest)\"}]}"
        )
        #expect(document.mediaType(ofFile: "a", saying: "text/plain") == "image/png")
        #expect(document.mediaType(ofFile: "b", saying: "text/plain") == "text/plain")
        #expect(document.mediaType(ofFile: "b", saying: nil) == "application/octet-stream")
        let parts = try document.parts([])
        #expect(parts.map(\.name) == ["a", "b"])
        #expect(parts.map(\.mediaType) == ["image/png", "application/octet-stream"])
        for part in parts {
            guard case .stored(let digest) = part.content else {
                Issue.record("a part of no file has bytes")
                continue
            }
            #expect(digest == Digest(Self.digest))
        }
    }
}
