import BlobJSON
import TestSupport
import Testing

@testable import BlobStore

@Suite struct PatchTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    @Test("A patch changes what it names, moves the place in the feed and not in the history")
    func fields() throws {
        _ = try store.apply(.setCategory(Category(name: "mail", actions: [])))
        let first = try store.publish("a", owner: "anna", group: "g") { $0.message = "Hi" }
        try store.publish("b", owner: "anna")
        let outcome = try store.patch("a", asOf: noon.adding(seconds: 1)) { patch in
            patch.message = .clear
            patch.title = .set("Ann")
            patch.richType = .set("gif")
            patch.category = .set("mail")
            patch.group = .set("h")
            patch.actions = .set([])
            patch.priority = .set(.low)
            patch.displayTTLSeconds = .set(5)
            patch.isRead = .set(true)
            patch.actionState = .set(.snoozed)
            patch.device = "phone"
        }
        let record = try #require(outcome.record)
        #expect(try store.record(for: "a", asOf: noon) == record)
        #expect(record.revision == first.revision + 2 + 0)
        #expect(record.sequence == first.revision)
        #expect(record.createdAt == noon)
        #expect(record.message == nil)
        #expect(record.richType == "gif")
        var expected = NotificationDetails()
        expected.title = "Ann"
        expected.category = "mail"
        expected.categoryRevision = try #require(try store.category("mail")).revision
        expected.group = "h"
        expected.actions = []
        expected.priority = .low
        expected.displayTTLSeconds = 5
        expected.isRead = true
        expected.actionState = .snoozed
        expected.device = "phone"
        expected.sequence = first.revision
        #expect(record.details == expected)
        let index = try store.ownerIndex("anna")
        #expect(index.history == ["a", "b"])
        #expect(index.feed == ["b", "a"])
        #expect(index.groups == ["h": [first.revision]])

        let cleared = try store.patch("a") { patch in
            patch.category = .clear
            patch.group = .clear
            patch.actions = .clear
            patch.priority = .clear
            patch.displayTTLSeconds = .clear
            patch.isRead = .clear
            patch.actionState = .clear
        }
        var bare = NotificationDetails()
        bare.title = "Ann"
        bare.sequence = first.revision
        #expect(cleared.record?.details == bare)
        let left = try store.ownerIndex("anna")
        #expect(left.groups == [:])
        #expect(left.entries.count == 3)
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

    @Test("A new expiry is that of the blobs, too")
    func expiry() throws {
        let digest = try store.put("a", [1, 2], seconds: 10).parts[0].digest
        let end = noon.adding(seconds: 100)
        let outcome = try store.patch("a") { $0.expiresAt = .set(end) }
        #expect(outcome.record?.expiresAt == end)
        let later = noon.adding(seconds: 50)
        #expect(try store.sweepExpired(asOf: later, limit: 10) == SweepResult())
        #expect(try store.lookUp(digest, asOf: later) == .found)
        #expect(try store.timeEntries() == [.notification(end, id: "a")])
        #expect(try store.verify().problems == [])
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
    func refused() throws {
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
