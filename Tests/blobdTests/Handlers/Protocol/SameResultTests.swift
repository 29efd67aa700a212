import BlobJSON
import BlobProtocol
import BlobStore
import TestSupport
import Testing

@testable import BlobServer
@testable import blobd

/// One script, over HTTP, over `call` and with the library: what comes of each step is the same, to
/// the revisions.
@Suite(.waiting) struct SameResultTests {
    /// What came of a step, without what depends on the clock and the store.
    struct Seen: Equatable {
        var status: Int
        var code: String?
        var document: JSONValue?
    }

    /// A step, as a request and as what it means to the library.
    struct Step {
        var call: ResourceCall
        var library: (Library) throws -> Seen
    }

    /// The store, and the documents of what it answers.
    struct Library {
        let store: BlobStore

        func apply(_ change: Change, recorded: Int = 200) throws -> Seen {
            var document: [UInt8] = []
            var status = 200
            switch try store.apply([change], asOf: .now)[0] {
            case .published(let record, let created):
                status = created ? 201 : 200
                RecordDocument.append(record, to: &document)
            case .changed(let record):
                status = recorded
                RecordDocument.append(record, to: &document)
            case .unchanged(let record): RecordDocument.append(record, to: &document)
            case .held(let held, let created):
                status = created ? 201 : 200
                HeldBlobDocument.append(held, to: &document)
            case .categorySet(let category, let created):
                status = created ? 201 : 200
                CategoryDocument.append(category, to: &document)
            case .deleted: status = 204
            case .notFound: return Seen(status: 404, code: "not_found")
            case .refused(let error):
                let error = ProtocolError(error)
                return Seen(status: Int(error.status), code: error.code.rawValue)
            }
            return try SameResultTests.seen(status, document)
        }

        func prepared(_ bytes: [UInt8], _ mediaType: String) throws -> PreparedPayload {
            var writer = store.makePayloadWriter()
            try writer.append(bytes.span.bytes)
            return try writer.finish(mediaType: mediaType)
        }

        func read(_ id: String) throws -> Seen {
            guard let record = try store.record(for: id, asOf: .now) else {
                return Seen(status: 404, code: "not_found")
            }
            var document: [UInt8] = []
            RecordDocument.append(record, to: &document)
            return try SameResultTests.seen(200, document)
        }

        func changes(
            _ owner: String, limit: Int = 100, _ filter: RecordFilter = RecordFilter()
        ) throws -> Seen {
            let page = try store.changes(
                of: owner, from: .beginning, limit: limit, matching: filter)
            var document: [UInt8] = []
            ChangesDocument.append(page, owner: owner, store: store.id, to: &document)
            return try SameResultTests.seen(200, document)
        }

        func history(_ owner: String, _ query: HistoryQuery = HistoryQuery()) throws -> Seen {
            let page = try store.history(of: owner, query, asOf: .now)
            var document: [UInt8] = []
            HistoryDocument.append(page, .active, owner: owner, store: store.id, to: &document)
            return try SameResultTests.seen(200, document)
        }
    }

    /// Puts a fixed text in the place of every time and cursor.
    private static func committed(_ value: JSONValue) -> JSONValue {
        switch value {
        case .object(let members):
            let pendingKeys = ["created_at", "expires_at", "at", "held_until", "cursor", "next"]
            return .object(
                members.map { member in
                    if pendingKeys.contains(member.name), case .string = member.value {
                        return JSONMember(member.name, .string("…"))
                    }
                    return JSONMember(member.name, committed(member.value))
                })
        case .array(let elements): return .array(elements.map(committed))
        default: return value
        }
    }

    private static func seen(_ status: Int, _ document: [UInt8]) throws -> Seen {
        guard !document.isEmpty else { return Seen(status: status) }
        let value = try JSONValue.parse(document.span.bytes)
        return Seen(status: status, document: committed(value))
    }

    private static let image: [UInt8] = [0xFF, 0xD8, 1, 2, 3]
    private static let actions = [
        NotificationAction(identifier: "yes", title: "Yes", isForeground: true),
        NotificationAction(identifier: "no", title: "No", isDestructive: true),
    ]
    private static let actionsText =
        #"[{"identifier":"yes","title":"Yes","foreground":true},{"identifier":"no","title":"No","destructive":true}]"#

    private static func draft(
        _ id: String?, _ fill: (inout NotificationDraft) throws -> Void = { _ in }
    ) rethrows -> NotificationDraft {
        var draft = NotificationDraft(id: id, expiry: .at(Timestamp.now.adding(seconds: 1_000)))
        try fill(&draft)
        return draft
    }

    private static func put(
        _ id: String, _ document: String, device: String? = nil,
        condition: Call.Condition = .none, _ fill: @escaping (inout NotificationDraft) -> Void
    ) -> Step {
        Step(
            call: ResourceCall(
                .put, "/v1/notifications/\(id)", document, device: device, condition: condition)
        ) { library in
            try library.apply(
                .publishNotification(
                    draft(id) { draft in
                        draft.device = device
                        fill(&draft)
                    }))
        }
    }

    private static func patch(
        _ id: String, _ document: String, device: String? = nil,
        condition: Call.Condition = .none, _ fill: @escaping (inout NotificationPatch) -> Void
    ) -> Step {
        Step(
            call: ResourceCall(
                .patch, "/v1/notifications/\(id)", document, device: device, condition: condition)
        ) { library in
            var patch = NotificationPatch(id: id)
            patch.device = device
            fill(&patch)
            return try library.apply(.patch(patch))
        }
    }

    private static func respond(
        _ id: String, _ action: String, key: String? = nil, stays: Bool = false,
        contentExtension: ContentExtensionAnswer? = nil
    ) -> Step {
        var document = #"{"action":"\#(action)""#
        if let key { document += #","key":"\#(key)""# }
        if stays { document += #","dismissed":false"# }
        if let contentExtension { document += #","extension":"\#(contentExtension.name)""# }
        return Step(
            call: ResourceCall(
                .post, "/v1/notifications/\(id)/responses", document + "}", device: "watch")
        ) { library in
            var response = ActionResponse(id: id, action: action, key: key)
            response.staysOnScreen = stays
            response.contentExtension = contentExtension
            response.device = "watch"
            return try library.apply(.respond(response), recorded: 201)
        }
    }

    /// Sets the category ASK, with an option.
    private static func category(
        _ text: String, condition: Call.Condition = .none
    ) -> Step {
        Step(
            call: ResourceCall(
                .put, "/v1/categories/ASK",
                #"{"actions":\#(text),"options":["custom_dismiss_action"]}"#,
                condition: condition)
        ) {
            let conditions: Condition =
                switch condition {
                case .none: .none
                case .absent: .absent
                case .exists: .exists
                case .revision(let revision): .revisions([revision])
                }
            return try $0.apply(
                .setCategory(
                    Category(
                        name: "ASK", actions: text == "[]" ? [] : actions,
                        options: .customDismissAction), condition: conditions))
        }
    }

    private static func remove(_ id: String, revision: UInt64? = nil) -> Step {
        Step(
            call: ResourceCall(
                .delete, "/v1/notifications/\(id)", device: "phone",
                condition: revision.map { .revision($0) } ?? .none)
        ) { library in
            try library.apply(
                .remove(
                    Removal(
                        id: id, device: "phone",
                        condition: revision.map { .revisions([$0]) } ?? .none)))
        }
    }

    private static func read(_ id: String) -> Step {
        Step(call: ResourceCall(.get, "/v1/notifications/\(id)")) { try $0.read(id) }
    }

    private static func changes(
        _ owner: String, limit: Int = 100, query: String = "",
        _ filter: RecordFilter = RecordFilter()
    ) -> Step {
        Step(
            call: ResourceCall(
                .get, "/v1/users/\(owner)/changes?limit=\(limit)\(query)")
        ) { try $0.changes(owner, limit: limit, filter) }
    }

    private static func history(
        _ owner: String, _ parameters: String = "", _ query: HistoryQuery = HistoryQuery()
    ) -> Step {
        Step(call: ResourceCall(.get, "/v1/users/\(owner)/notifications\(parameters)")) {
            try $0.history(owner, query)
        }
    }

    /// Uploads the image by its digest, or lets the daemon tell it.
    private static func hold(isNamed: Bool = true) -> Step {
        let digest = PayloadDigestText.of(image)
        return Step(
            call: isNamed
                ? ResourceCall(
                    .put, "/v1/blobs/sha256:\(digest)", bytes: image, type: "image/jpeg")
                : ResourceCall(.post, "/v1/blobs?ttl=3600", bytes: image, type: "image/jpeg")
        ) { library in
            let payload = try library.prepared(image, "image/jpeg")
            let until = Timestamp.now.adding(seconds: 3_600)
            return try library.apply(.hold(BlobHold(payload, until: until)))
        }
    }

    /// The script: publishes of every kind, changes, conditions, responses, refusals, a group, an
    /// account, and the pages in between.
    private static func script() -> [Step] {
        let digest = PayloadDigestText.of(image)
        let part = #"{"name":"payload","media_type":"image/jpeg","digest":"sha256:\#(digest)"}"#
        var unread = HistoryQuery()
        unread.filter.isRead = false
        var grouped = HistoryQuery()
        grouped.filter.group = "g"
        var ofMail = HistoryQuery()
        ofMail.filter.app = "mail"
        return [
            put("a", #"{"owner":"u","message":"Héllo","group":"g","priority":"low"}"#) {
                $0.owner = "u"
                $0.message = "Héllo"
                $0.details.group = "g"
                $0.details.priority = .low
            },
            put("a", #"{"owner":"u"}"#, condition: .absent) {
                $0.owner = "u"
                $0.condition = .absent
            },
            put("none", "{}", condition: .exists) { $0.condition = .exists },
            hold(), hold(), hold(isNamed: false),
            put(
                "b", #"{"owner":"u","rich_type":"img","parts":[\#(part)],"group":"g"}"#,
                device: "phone"
            ) {
                $0.owner = "u"
                $0.richType = "img"
                $0.details.group = "g"
                $0.parts = [
                    DraftPart(
                        name: "payload", mediaType: "image/jpeg",
                        content: .stored(Digest(hex: Array(digest.utf8).span.bytes)!))
                ]
            },
            put("c", #"{"owner":"u","title":"Ann","app":"mail","category":"ASK"}"#) {
                $0.owner = "u"
                $0.details.title = "Ann"
                $0.details.app = "mail"
                $0.details.category = "ASK"
            },
            Step(
                call: ResourceCall(.put, "/v1/categories/ASK", #"{"actions":\#(actionsText)}"#)
            ) {
                try $0.apply(.setCategory(Category(name: "ASK", actions: actions)))
            },
            category("[]", condition: .absent), category("[]", condition: .revision(1)),
            category(actionsText, condition: .exists),
            put("c", #"{"owner":"u","title":"Ann","app":"mail","category":"ASK"}"#) {
                $0.owner = "u"
                $0.details.title = "Ann"
                $0.details.app = "mail"
                $0.details.category = "ASK"
            },
            category("[]"), changes("u"), category(actionsText),
            Step(
                call: ResourceCall(
                    .post, "/v1/notifications", #"{"message":"counted","actions":[]}"#)
            ) { library in
                try library.apply(
                    .publishNotification(
                        draft(nil) {
                            $0.message = "counted"
                            $0.details.actions = []
                        }))
            },
            changes("u"), history("u"), changes("nobody"),
            patch("a", #"{"read":true}"#, device: "phone") { $0.isRead = .set(true) },
            patch("a", #"{"read":true}"#) { $0.isRead = .set(true) },
            patch("a", #"{"message":null,"data":{"n":1}}"#) {
                $0.message = .clear
                $0.data = .set(.object([JSONMember("n", .number(JSONNumber(1)))]))
            },
            patch("a", #"{"category":"NONE"}"#) { $0.category = .set("NONE") },
            patch("a", #"{"display_ttl":5}"#, condition: .revision(1)) {
                $0.displayTTLSeconds = .set(5)
                $0.condition = .revisions([1])
            },
            patch("missing", "{}") { _ in },
            read("a"), read("missing"),
            respond("c", "yes", key: "k"), respond("c", "yes", key: "k"),
            respond("c", "no", key: "k"), respond("c", "perhaps"),
            respond("c", "default", stays: true), respond("c", "dismiss"),
            respond("c", "yes", contentExtension: .dismiss),
            respond("c", "yes", key: "f", contentExtension: .dismissAndForward),
            respond("c", "yes", key: "f", contentExtension: .dismiss),
            respond("c", "yes", stays: true, contentExtension: .doNotDismiss),
            respond("c", "yes", stays: true, contentExtension: .dismiss),
            respond("a", "yes"),
            changes("u", limit: 2), history("u", "?read=false", unread),
            history("u", "?group=g", grouped),
            Step(
                call: ResourceCall(
                    .patch, "/v1/users/u/notifications?group=g", #"{"action_state":"snoozed"}"#)
            ) { library in
                var patch = NotificationPatch(id: "")
                patch.actionState = .set(.snoozed)
                let change = try library.store.patchGroup("g", of: "u", patch, asOf: .now)
                return try seen(
                    200, Array(#"{"matched":\#(change.matched),"changed":\#(change.changed)}"#.utf8)
                )
            },
            put("b", #"{"owner":"v","message":"m"}"#) {
                $0.owner = "v"
                $0.message = "m"
            },
            changes("u", query: "&read=false", unread.filter),
            changes("u", query: "&app=mail", RecordFilter(app: "mail")),
            changes("u", query: "&read=true&group=g", RecordFilter(isRead: true, group: "g")),
            history("u", "?app=mail", ofMail),
            Step(
                call: ResourceCall(
                    .delete, "/v1/users/u/notifications?group=none", device: "phone")
            ) { library in
                let change = try library.store.deleteGroup("none", of: "u", asOf: .now)
                return try seen(200, Array(#"{"deleted":\#(change.changed)}"#.utf8))
            },
            put("z", #"{"owner":"u","message":"m","group":"away","app":"mail"}"#) {
                $0.owner = "u"
                $0.message = "m"
                $0.details.group = "away"
                $0.details.app = "mail"
            },
            Step(
                call: ResourceCall(
                    .delete, "/v1/users/u/notifications?group=away&app=mail", device: "phone")
            ) { library in
                let change = try library.store.deleteGroup(
                    "away", of: "u", app: "mail", device: "phone", asOf: .now)
                return try seen(200, Array(#"{"deleted":\#(change.changed)}"#.utf8))
            },
            changes("u", query: "&app=mail", RecordFilter(app: "mail")),
            remove("a", revision: 1), remove("a"), remove("a"),
            changes("u"), changes("v"), history("u"), history("v"),
            put("a", #"{"owner":"u"}"#) { $0.owner = "u" },
            put("a", #"{"owner":"u","data":[]}"#) {
                $0.owner = "u"
                $0.details.data = JSONFragment(.array([]))
            },
            patch("a", #"{"data":null}"#) { $0.data = .clear },
            patch("a", #"{"data":null,"title":"Ann"}"#) {
                $0.data = .clear
                $0.title = .set("Ann")
            },
            changes("u"),
            // Nothing to show is nothing to publish, and nothing that a patch may leave.
            put("e", "{}") { _ in },
            put("e", #"{"owner":"u","rich_type":"img","group":"g","actions":[]}"#) {
                $0.owner = "u"
                $0.richType = "img"
                $0.details.group = "g"
                $0.details.actions = []
            },
            put("e", #"{"title":"t"}"#) { $0.details.title = "t" },
            patch("e", #"{"title":null,"message":null,"data":null}"#) {
                $0.title = .clear
                $0.message = .clear
                $0.data = .clear
            },
            patch("e", #"{"title":null,"message":"m"}"#) {
                $0.title = .clear
                $0.message = .set("m")
            },
            Step(call: ResourceCall(.get, "/v1/categories")) { library in
                var document: [UInt8] = []
                let page = CategoryPage(categories: try library.store.categories(), next: nil)
                PageDocument.append(page, to: &document)
                return try seen(200, document)
            },
            Step(call: ResourceCall(.delete, "/v1/categories/ASK")) {
                try $0.apply(.removeCategory(name: "ASK"))
            },
            Step(call: ResourceCall(.delete, "/v1/categories/ASK")) {
                try $0.apply(.removeCategory(name: "ASK"))
            },
            // The name stays when the category goes, and means nothing then.
            respond("c", "yes"), respond("c", "default"),
            put("d", #"{"title":"t","category":"ASK"}"#) {
                $0.details.title = "t"
                $0.details.category = "ASK"
            },
            Step(call: ResourceCall(.delete, "/v1/users/u")) { library in
                let change = try library.store.deleteOwner("u", asOf: .now)
                return try seen(200, Array(#"{"deleted":\#(change.changed)}"#.utf8))
            },
            history("u"), history("v"), changes("v"),
        ]
    }

    @Test("Every step comes to the same in both dialects and with the library")
    func script() throws {
        let folder = TemporaryFolder()
        let library = Library(store: try BlobStore.open(at: "\(folder)/data"))
        let http = try ResourceClient(.http, try DaemonProcess())
        let call = try ResourceClient(.call, try DaemonProcess())
        var statuses: Set<Int> = []
        for (index, step) in Self.script().enumerated() {
            let expected = try step.library(library)
            statuses.insert(expected.status)
            for client in [http, call] {
                let answer = try client.perform(step.call)
                var seen = Seen(status: answer.status, code: answer.code)
                if answer.status < 400 { seen = try Self.seen(answer.status, answer.body) }
                // The head says of a notification what its document does, and where a new thing is.
                let (method, target) = (step.call.method, step.call.target)
                if seen.status < 300, [.get, .put, .patch].contains(method),
                    target.hasPrefix("/v1/notifications/"),
                    case .number(let revision)? = seen.document?["revision"]
                {
                    #expect(answer.revision == revision.integer.map { UInt64($0) }, "\(target)")
                }
                if seen.status == 201, method == .post, !target.hasSuffix("/responses") {
                    let path = String(target.prefix { $0 != "?" })
                    #expect(answer.location?.hasPrefix("\(path)/") == true, "\(target)")
                    if let id = seen.document?["id"]?.text {
                        #expect(answer.location == "\(path)/\(id)")
                    }
                }
                #expect(
                    seen == expected,
                    "\(client.dialect), step \(index): \(step.call.method) \(step.call.target) \(String(decoding: step.call.body.prefix(80), as: UTF8.self)): \(answer.text)"
                )
            }
        }
        #expect(statuses.isSuperset(of: [200, 201, 204, 400, 404, 409, 412, 422]))
    }
}
