import BlobJSON
import TestSupport
import Testing

@testable import BlobStore

/// What drafts and patches are refused for, and what a patch leaves. What they make of what is there is compared with
/// the model.
@Suite struct NotificationTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    @Test("What is refused changes nothing, and takes no number")
    func refused() throws {
        let there = try store.publish("a", owner: "anna")
        let before = try store.counters()
        let unknown = try store.prepare([9]).digest
        var draft = NotificationDraft(id: nil, expiry: .at(noon.adding(seconds: 10)))
        draft.message = "m"
        func refuse(
            id: String? = nil, _ change: (inout NotificationDraft) -> Void
        ) throws -> StoreError? {
            var bad = draft
            bad.id = id
            change(&bad)
            return try store.apply(.publishNotification(bad)).error
        }
        #expect(try refuse { $0.details.displayTTLSeconds = 2_592_001 }?.field == .displayTTL)
        let long = JSONFragment(checked: [UInt8](repeating: 0x31, count: 16_385))
        #expect(try refuse { $0.details.data = long }?.field == .data)
        #expect(try refuse { $0.expiry = .at(noon) }?.field == .expiry)
        let stored = DraftPart.Content.stored(unknown)
        #expect(
            try refuse {
                $0.parts = (0..<33).map {
                    DraftPart(name: "\($0)", mediaType: "image/png", content: stored)
                }
            }?.field == .parts)
        let part = DraftPart(name: "p", mediaType: "image/png", content: stored)
        #expect(try refuse { $0.parts = [part, part] }?.field == .partName)
        #expect(try refuse { $0.parts = [part] } == .unknownDigest(unknown))
        #expect(try refuse { $0.details.category = "x" } == .unknownCategory("x"))
        for (id, condition, revision) in [
            ("a", Condition.absent, there.revision), ("a", .revisions([99]), there.revision),
            ("b", .exists, nil), ("b", .revisions([1]), nil),
        ] {
            let error = try refuse(id: id) { $0.condition = condition }
            let present = try #require(error?.present, "\(id) \(condition)")
            #expect(present.revision == revision, "\(id) \(condition)")
        }
        #expect(try store.counters() == before)
        draft.condition = .absent
        #expect(try store.apply(.publishNotification(draft)).record?.id == "0")
    }

    @Test("Actions: at most ten, each with an identifier of its own that is not reserved")
    func actions() throws {
        func field(_ identifiers: [String]) -> InvalidInput.Field? {
            do throws(StoreError) {
                try Rules.check(identifiers.map { NotificationAction(identifier: $0, title: "") })
                return nil
            } catch {
                return error.field
            }
        }
        #expect(field([]) == nil)
        #expect(field((0..<10).map { "a\($0)" }) == nil)
        #expect(field((0..<11).map { "a\($0)" }) == .actions)
        #expect(field(["a", "b", "a"]) == .actions)
        // Two texts for Swift, one for nobody else.
        #expect(field(["\u{E9}", "e\u{301}"]) == nil)
        #expect(field(["default"]) == .actions)
        #expect(field(["dismiss"]) == .actions)
    }

    /// `{}` was a notification: a place in the history with nothing to show, and an empty alert.
    @Test("One with no title, message, data and part is refused, whole or as what a patch leaves")
    func empty() throws {
        var draft = NotificationDraft(id: "a", expiry: .at(noon.adding(seconds: 60)))
        draft.owner = "anna"
        draft.richType = "img"
        draft.details.group = "g"
        draft.details.actions = []
        for (title, message) in [(nil, nil), ("", nil), (nil, ""), ("", "")] as [(String?, String?)]
        {
            draft.details.title = title
            draft.message = message
            let outcome = try store.apply(.publishNotification(draft))
            guard case .emptyNotification = outcome.error else { throw NothingThrown() }
        }
        let data = JSONFragment(checked: Array("{}".utf8))
        let payload = try store.prepare([])
        let fillings: [(inout NotificationDraft) -> Void] = [
            { $0.details.title = "t" }, { $0.message = "m" }, { $0.details.data = data },
            {
                $0.parts = [
                    DraftPart(name: "p", mediaType: "image/png", content: .payload(payload))
                ]
            },
        ]
        for (index, filling) in fillings.enumerated() {
            draft.id = "n\(index)"
            draft.message = nil
            draft.details.title = nil
            draft.details.data = nil
            draft.parts = []
            filling(&draft)
            #expect(try store.apply(.publishNotification(draft)).isDone, "\(index)")
        }
        let before = try store.counters()
        let emptied: [(String, (inout NotificationPatch) -> Void)] = [
            ("n0", { $0.title = .clear }), ("n0", { $0.title = .set("") }),
            ("n1", { $0.message = .clear }), ("n2", { $0.data = .clear }),
            ("n2", { $0.data = .set(.null) }),
        ]
        for (id, change) in emptied {
            let outcome = try store.patch(id, change)
            guard case .emptyNotification = outcome.error else { throw NothingThrown() }
        }
        #expect(try store.counters() == before)
        // One thing for another is no emptying; a part is enough.
        let swapped = try store.patch("n0") {
            $0.title = .clear
            $0.message = .set("m")
        }
        #expect(swapped.isDone)
        let read = try store.patch("n3") { $0.isRead = .set(true) }
        #expect(read.isDone)
        // A group's patch ends where it would empty a member.
        let failure = try failure {
            var patch = NotificationPatch(id: "")
            patch.message = .clear
            try store.patchGroup("g", of: "anna", patch, asOf: noon)
        }
        guard case .emptyNotification = failure else { throw NothingThrown() }
        #expect(try store.verify().problems == [])
    }

    @Test("One that changes nothing makes no revision, no entry and no commit")
    func unchanged() throws {
        let record = try store.publish("a", owner: "anna", group: "g") { draft in
            draft.message = "Hi"
            draft.device = "phone"
        }
        let before = try store.counters()
        let index = try store.ownerIndex("anna")
        let transaction = try store.lastTransaction()
        let changes: [(inout NotificationPatch) -> Void] = [
            { _ in }, { $0.message = .set("Hi") }, { $0.isRead = .set(false) },
            { $0.group = .set("g") }, { $0.expiresAt = .set(record.expiresAt) },
            { $0.device = "tablet" },
            { $0.richType = .clear },
        ]
        for (number, change) in changes.enumerated() {
            let outcome = try store.patch("a", change)
            #expect(outcome.isUnchanged, "\(number)")
            #expect(outcome.record == record, "\(number)")
        }
        let after = try store.counters()
        let same = try store.ownerIndex("anna")
        let last = try store.lastTransaction()
        #expect(after == before)
        #expect(same == index)
        #expect(last == transaction)
        // Two texts of other bytes are not the same, though Swift says so.
        _ = try store.patch("a") { $0.message = .set("\u{E9}") }
        let outcome = try store.patch("a") { $0.message = .set("e\u{301}") }
        #expect(!outcome.isUnchanged)
    }

    @Test("Data are merged, member by member")
    func data() throws {
        try store.publish("a", owner: "anna")
        func merge(_ text: String) throws -> String? {
            let value = try JSONValue.parse(Array(text.utf8).span.bytes)
            let record = try #require(try store.patch("a") { $0.data = .set(value) }.record)
            return record.details.data.map { String(decoding: $0.bytes, as: UTF8.self) }
        }
        #expect(try merge(#"{"a": 1, "b": {"c": null, "d": 2}}"#) == #"{"a":1,"b":{"d":2}}"#)
        #expect(try merge(#"{"b": {"d": null, "e": [1]}}"#) == #"{"a":1,"b":{"e":[1]}}"#)
        let same = try store.patch("a") {
            $0.data = .set(.object([JSONMember("a", .number(JSONNumber(1)))]))
        }
        #expect(same.isUnchanged)
        #expect(try merge("[1, 2]") == "[1,2]")
        let text = String(repeating: "x", count: StoreLimits.dataByteCountMax)
        let tooLong = try store.patch("a") { $0.data = .set(.string(text)) }
        #expect(tooLong.field == .data)
        let cleared = try store.patch("a") { $0.data = .clear }
        #expect(cleared.record?.details.data == nil)
    }

    @Test("What is refused, and what is not there, changes nothing")
    func refusedPatch() throws {
        let record = try store.publish("a", owner: "anna", seconds: 10)
        let before = try store.counters()
        func field(_ change: (inout NotificationPatch) -> Void) throws -> InvalidInput.Field? {
            try store.patch("a", change).field
        }
        #expect(try field { $0.displayTTLSeconds = .set(.max) } == .displayTTL)
        #expect(try field { $0.expiresAt = .clear } == .expiry)
        #expect(try field { $0.expiresAt = .set(noon) } == .expiry)
        let reserved = NotificationAction(identifier: "dismiss", title: "")
        #expect(try field { $0.actions = .set([reserved]) } == .actions)
        for platforms in [["ios", "ios"], (0..<17).map({ "p\($0)" })] {
            #expect(try field { $0.platforms = .set(platforms) } == .platforms, "\(platforms)")
        }
        #expect(try store.patch("a", { $0.category = .set("x") }).error == .unknownCategory("x"))
        for (id, condition, revision) in [
            ("a", Condition.absent, record.revision), ("a", .revisions([]), record.revision),
            ("b", .exists, nil),
        ] {
            let error = try store.patch(id) {
                $0.isRead = .set(true)
                $0.condition = condition
            }.error
            let present = try #require(error?.present, "\(id) \(condition)")
            #expect(present.revision == revision, "\(id) \(condition)")
        }
        let nothing = try store.patch("b") { $0.isRead = .set(true) }
        #expect(nothing.isNotFound)
        let tooLong = try store.patch(String(repeating: "x", count: 600)) { _ in }
        #expect(tooLong.isNotFound)
        let expired = try store.patch("a", asOf: noon.adding(seconds: 10)) { _ in }
        #expect(expired.isNotFound)
        #expect(try store.counters() == before)
        let right = try store.patch("a") {
            $0.isRead = .set(true)
            $0.condition = .revisions([9, record.revision])
        }
        #expect(right.isDone)
    }
}
