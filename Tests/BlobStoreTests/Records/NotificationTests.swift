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
}
