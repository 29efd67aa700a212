import BlobJSON
import TestSupport
import Testing

@testable import BlobStore

@Suite struct PatchTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

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
