import BlobJSON
import TestSupport
import Testing

@testable import BlobStore

@Suite struct NotificationTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    @Test("A whole notification is stored with all it says, in one commit, and read back")
    func whole() throws {
        _ = try store.apply(.setCategory(Category(name: "mail", actions: [])))
        let record = try store.publish("a", owner: "anna", group: "inbox") { draft in
            draft.message = "Hello"
            draft.richType = "img"
            draft.device = "phone"
            draft.details.category = "mail"
            draft.details.actions = [NotificationAction(identifier: "yes", title: "Yes")]
            draft.details.priority = .low
            draft.details.displayTTLSeconds = 60
            draft.details.isRead = true
            draft.details.actionState = .snoozed
            draft.details.data = JSONFragment(checked: Array(#"{"a":1}"#.utf8))
        }
        let read = try #require(try store.record(for: "a", asOf: noon))
        #expect(read == record)
        #expect(read.owner == "anna")
        #expect(read.message == "Hello")
        #expect(read.richType == "img")
        #expect(read.parts == [])
        let details = read.details
        #expect(details.category == "mail")
        #expect(details.group == "inbox")
        #expect(details.actions?.map { $0.identifier } == ["yes"])
        #expect(details.priority == .low)
        #expect(details.displayTTLSeconds == 60)
        #expect(details.isRead)
        #expect(details.actionState == .snoozed)
        #expect(details.data?.bytes == Array(#"{"a":1}"#.utf8))
        #expect(details.device == "phone")
        #expect(read.sequence == read.revision)
        let index = try store.ownerIndex("anna")
        #expect(index.history == ["a"])
        #expect(index.feed == ["a"])
        #expect(index.groups == ["inbox": [read.revision]])
        #expect(try store.verify().problems == [])
    }

    @Test("One without an owner is in no history")
    func nobody() throws {
        try store.publish("a", owner: nil, group: "g")
        _ = try store.patch("a") { $0.isRead = .set(true) }
        #expect(try store.timeEntries().count == 1)
        #expect(try store.indexCount() == 1)
        #expect(try store.record(for: "a", asOf: noon)?.details.sequence == 0)
        _ = try store.apply(.delete(id: "a"))
        #expect(try store.indexCount() == 0)
    }

    @Test("Parts are given bytes or those that are stored; the same bytes are one blob")
    func parts() throws {
        let icon = try store.put("icon", [7, 7, 7]).parts[0].digest
        let photo = try store.prepare([1, 2, 3])
        let record = try store.publish("a", owner: "anna") { draft in
            draft.parts = [
                DraftPart(name: "photo", mediaType: "image/png", content: .payload(photo)),
                DraftPart(name: "icon", mediaType: "image/gif", content: .stored(icon)),
                DraftPart(name: "payload", mediaType: "image/png", content: .payload(photo)),
            ]
        }
        #expect(record.parts.map { $0.name } == ["payload", "icon", "photo"])
        for (part, bytes) in [("", [1, 2, 3]), ("icon", [7, 7, 7]), ("photo", [1, 2, 3])] {
            let read = try store.ownedPayload(for: "a", part: part, asOf: noon)
            #expect(read == bytes.map { UInt8($0) }, "\(part)")
        }
        let counters = try store.counters()
        #expect(counters.parts == 4)
        #expect(counters.blobs == 2)
        // The second draft has the place of the first: what it does not name is gone.
        let again = try store.publish("a", owner: "anna") { draft in
            draft.parts = [
                DraftPart(
                    name: "photo", mediaType: "image/png", content: .stored(photo.digest))
            ]
        }
        #expect(again.parts.map { $0.name } == ["photo"])
        let after = try store.counters()
        #expect(after.parts == 2)
        #expect(after.blobs == 2)
        _ = try store.apply(.delete(id: "icon"))
        #expect(try store.verify().problems == [])
    }

    @Test("Replacing keeps creation time and place, and empties what the draft does not say")
    func replacing() throws {
        let first = try store.publish("a", owner: "anna", group: "g") { draft in
            draft.message = "Hi"
            draft.device = "phone"
        }
        _ = try store.apply(.respond(ActionResponse(id: "a", action: "default")))
        let later = noon.adding(seconds: 5)
        let second = try store.publish("a", owner: "anna", asOf: later)
        #expect(second.createdAt == noon)
        #expect(second.sequence == first.revision)
        #expect(second.message == "Hello")
        var expected = NotificationDetails()
        expected.sequence = first.revision
        #expect(second.details == expected)
        let index = try store.ownerIndex("anna")
        #expect(index.entries[first.revision]?.indexes == .history)
        #expect(index.entries[second.revision]?.indexes == .feed)
        #expect(index.entries.count == 2)
        #expect(index.groups == [:])
    }

    @Test("A raw payload's publish keeps everything the notification says, and its owner")
    func rawPayload() throws {
        try store.publish("a", owner: "anna", group: "g") { draft in
            draft.device = "phone"
            draft.details.isRead = true
        }
        let put = try store.put("a", [1])
        #expect(put.owner == "anna")
        #expect(put.details.group == "g")
        #expect(put.details.isRead)
        #expect(put.details.device == nil)
        #expect(put.sequence < put.revision)
    }

    @Test("An expired one that nobody has swept starts anew")
    func expired() throws {
        try store.publish("a", owner: "anna", group: "g", seconds: 10)
        _ = try store.patch("a") { $0.isRead = .set(true) }
        let later = noon.adding(seconds: 10)
        let again = try store.publish("a", owner: "anna", asOf: later)
        #expect(again.createdAt == later)
        #expect(again.sequence == again.revision)
        let index = try store.ownerIndex("anna")
        #expect(index.history == ["a"])
        #expect(index.feed == ["a"])
        #expect(index.entries.count == 1)
        #expect(index.groups == [:])
        #expect(index.finderCount == 0)
        let counters = try store.counters()
        #expect(counters.notifications == 1)
        #expect(counters.tombstones == 0)
    }

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
        #expect(try refuse(id: "a/b") { _ in }?.field == .id)
        #expect(try refuse { $0.owner = "" }?.field == .owner)
        #expect(try refuse { $0.message = "\u{0}" }?.field == .message)
        #expect(try refuse { $0.device = "" }?.field == .device)
        #expect(try refuse { $0.device = "a/b" }?.field == .device)
        #expect(
            try refuse { $0.device = String(repeating: "d", count: 65) }?.field == .device)
        #expect(try refuse { $0.details.group = "" }?.field == .group)
        #expect(
            try refuse { $0.details.group = String(repeating: "g", count: 129) }?.field == .group)
        #expect(try refuse { $0.details.category = "a/b" }?.field == .category)
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
        func field(_ identifiers: [String], title: String = "") -> InvalidInput.Field? {
            do throws(StoreError) {
                try Rules.check(
                    identifiers.map { NotificationAction(identifier: $0, title: title) })
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
        #expect(field([""]) == .actions)
        #expect(field(["a/b"]) == .actions)
        #expect(field([String(repeating: "a", count: 65)]) == .actions)
        #expect(field(["a"], title: String(repeating: "t", count: 256)) == nil)
        #expect(field(["a"], title: String(repeating: "t", count: 257)) == .actions)
        #expect(field(["a"], title: "a\nb") == .actions)
    }

    @Test("A removed one leaves a tombstone, which a new publication of its id takes away")
    func removal() throws {
        let first = try store.publish("a", owner: "anna", group: "g")
        for removal in [
            Removal(id: "a", condition: .revisions([77])), Removal(id: "b", condition: .exists),
            Removal(id: "a", device: ""),
        ] {
            #expect(try store.apply(.remove(removal)).error != nil)
        }
        #expect(try store.apply(.remove(Removal(id: "b", condition: .absent))).isNotFound)
        let removal = Removal(id: "a", device: "phone", condition: .revisions([first.revision]))
        #expect(try store.apply(.remove(removal)).isDone)
        let index = try store.ownerIndex("anna")
        #expect(index.feed == ["-a"])
        #expect(index.history == [])
        #expect(index.groups == [:])
        #expect(index.finderCount == 1)
        let end = noon.adding(seconds: 30 * 86_400)
        #expect(
            index.entries[2]
                == SequenceEntry(.deleted, id: "a", device: "phone", end: end))
        #expect(try store.timeEntries() == [.tombstone(end, owner: "anna", revision: 2)])
        #expect(try store.counters().tombstones == 1)

        try store.publish("a", owner: "anna")
        let again = try store.ownerIndex("anna")
        #expect(again.feed == ["a"])
        #expect(again.finderCount == 0)
        #expect(try store.timeEntries().count == 1)
        #expect(try store.counters().tombstones == 0)
        #expect(try store.verify().problems == [])
    }

    @Test("The sweep leaves tombstones of what has expired, and forgets them in the end")
    func sweep() throws {
        let folder = TemporaryFolder()
        let store = try folder.open { $0.tombstoneRetentionMilliseconds = 50_000 }
        try store.publish("a", owner: "anna", seconds: 10)
        try store.publish("b", owner: "anna", seconds: 10)
        try store.publish("c", owner: "anna", seconds: 1_000)
        let one = try store.sweepExpired(asOf: noon.adding(seconds: 10), limit: 1)
        #expect(one == SweepResult(expired: 1, more: true))
        let two = try store.sweepExpired(asOf: noon.adding(seconds: 20), limit: 10)
        #expect(two == SweepResult(expired: 1))
        let index = try store.ownerIndex("anna")
        #expect(index.feed == ["c", "-a", "-b"])
        #expect(index.entries[4]?.kind == .expired)
        #expect(try store.sweepExpired(asOf: noon.adding(seconds: 59), limit: 10) == SweepResult())
        let forgotten = try store.sweepExpired(asOf: noon.adding(seconds: 60), limit: 10)
        #expect(forgotten == SweepResult(forgotten: 1))
        let counters = try store.counters()
        #expect(counters.horizon == 4)
        #expect(counters.tombstones == 1)
        #expect(try store.verify().problems == [])
        let last = try store.sweepExpired(asOf: noon.adding(seconds: 70), limit: 10)
        #expect(last == SweepResult(forgotten: 1))
        let after = try store.counters()
        #expect(after.horizon == 5)
        #expect(after.tombstones == 0)
        // Forgetting is no change of a notification.
        #expect(after.revision == 5)
        let left = try store.ownerIndex("anna")
        #expect(left.feed == ["c"])
        #expect(left.finderCount == 0)
        #expect(try store.verify().problems == [])
    }
}
