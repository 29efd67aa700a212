import TestSupport
import Testing

@testable import BlobStore

/// A notification that goes from one of its owner's apps to another.
@Suite struct AppTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    private static let retention: Int64 = 30 * 86_400

    /// The second app's device deleted what was not its own, and the first one's kept for ever what
    /// had left it.
    @Test("It leaves a tombstone of the one app, and comes anew to the other at the next revision")
    func moved() throws {
        let first = try store.publish("a", owner: "anna", group: "g") { $0.details.app = "mail" }
        #expect(first.revision == 1)
        let record = try store.publish("a", owner: "anna", group: "g") { draft in
            draft.details.app = "chat"
            draft.device = "phone"
        }
        #expect(record.createdAt == noon)
        #expect(record.revision == 3)
        #expect(record.sequence == 3)
        let end = noon.adding(seconds: Self.retention)
        let anna = try store.ownerIndex("anna")
        #expect(
            anna.entries == [
                2: SequenceEntry(.deleted, id: "a", device: "phone", end: end, app: "mail"),
                3: SequenceEntry([.history, .feed], id: "a"),
            ])
        #expect(anna.groups == ["g": [3]])
        #expect(anna.finderCount == 1)
        let counters = try store.counters()
        #expect(counters.revision == 3)
        #expect(counters.tombstones == 1)
        #expect(try store.verify().problems == [])

        // And back: mail's tombstone goes, and chat has one.
        let back = try store.publish("a", owner: "anna") { $0.details.app = "mail" }
        #expect(back.revision == 5)
        let index = try store.ownerIndex("anna")
        #expect(index.feed == ["-a", "a"])
        #expect(index.entries[4]?.app == "chat")
        #expect(index.finderCount == 1)
        // Out of all apps, and away: each leaves its own tombstone, found by its app.
        try store.publish("a", owner: "anna")
        _ = try store.apply(.delete(id: "a"))
        let gone = try store.ownerIndex("anna")
        #expect(gone.feed == ["-a", "-a", "-a"])
        #expect(gone.entries.values.map { $0.app ?? "-" }.sorted() == ["-", "chat", "mail"])
        #expect(gone.finderCount == 3)
        #expect(try store.verify().problems == [])
        // When their time is over all of them go.
        let later = end.adding(seconds: 1)
        while try store.sweepExpired(asOf: later, limit: 10).more {}
        #expect(try store.ownerIndex("anna") == OwnerIndex())
        let last = try store.counters()
        #expect(last.tombstones == 0)
        #expect(last.horizon == 8)
    }

    @Test("A payload that names another app moves it as well; one that names none leaves it")
    func payloads() throws {
        var publication = try store.publication("a", [1], owner: "anna")
        publication.app = "mail"
        _ = try store.publish(publication, asOf: noon)
        _ = try store.publish(store.publication("a", [2]), asOf: noon)
        #expect(try store.ownerIndex("anna").feed == ["a"])
        publication.app = "chat"
        #expect(try store.publish(publication, asOf: noon).app == "chat")
        #expect(try store.ownerIndex("anna").feed == ["-a", "a"])
        #expect(try store.verify().problems == [])
    }

    @Test(
        "To another owner and another app at once: one revision, and the tombstone has the old app")
    func bothMoved() throws {
        try store.publish("a", owner: "anna") { $0.details.app = "mail" }
        let record = try store.publish("a", owner: "ben") { $0.details.app = "chat" }
        #expect(record.revision == 2)
        #expect(try store.ownerIndex("anna").entries[2]?.app == "mail")
        let ben = try store.ownerIndex("ben")
        #expect(ben.entries == [2: SequenceEntry([.history, .feed], id: "a")])
        #expect(try store.verify().problems == [])
    }

    @Test("One that had expired leaves its app as expired")
    func expired() throws {
        try store.publish("a", owner: "anna", seconds: 10) { $0.details.app = "mail" }
        let later = noon.adding(seconds: 10)
        let record = try store.publish("a", owner: "anna", asOf: later) { $0.details.app = "chat" }
        #expect(record.createdAt == later)
        let index = try store.ownerIndex("anna")
        #expect(index.entries[2]?.kind == .expired)
        #expect(index.entries[2]?.app == "mail")
        #expect(index.feed == ["-a", "a"])
        try store.publish("a", owner: "anna", asOf: later.adding(seconds: 7_200)) {
            $0.details.app = "chat"
        }
        #expect(try store.ownerIndex("anna").feed == ["-a", "a"])
        #expect(try store.verify().problems == [])
    }
}
