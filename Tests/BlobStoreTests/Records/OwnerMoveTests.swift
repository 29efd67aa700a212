import TestSupport
import Testing

@testable import BlobStore

/// A notification that is published for another owner than it had.
@Suite struct OwnerMoveTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    @Test("It leaves a tombstone with the one and comes anew to the other, at one revision")
    func moved() throws {
        try store.publish("a", owner: "anna", group: "g")
        _ = try store.patch("a") { $0.isRead = .set(true) }
        let record = try store.publish("a", owner: "ben", group: "g") { $0.device = "phone" }
        #expect(record.createdAt == noon)
        #expect(record.sequence == record.revision)
        let anna = try store.ownerIndex("anna")
        #expect(anna.feed == ["-a"])
        #expect(anna.history == [])
        #expect(anna.groups == [:])
        #expect(anna.entries[record.revision]?.kind == .deleted)
        #expect(anna.entries[record.revision]?.device == "phone")
        let ben = try store.ownerIndex("ben")
        #expect(ben.entries == [record.revision: SequenceEntry([.history, .feed], id: "a")])
        #expect(ben.groups == ["g": [record.revision]])
        #expect(try store.verify().problems == [])

        // And back: the tombstone goes, and the other one has one.
        try store.publish("a", owner: "anna")
        let back = try store.ownerIndex("anna")
        #expect(back.feed == ["a"])
        #expect(back.finderCount == 0)
        #expect(try store.ownerIndex("ben").feed == ["-a"])
        #expect(try store.counters().tombstones == 1)
        #expect(try store.verify().problems == [])
    }

    @Test("From nobody to somebody, and back to nobody")
    func nobody() throws {
        try store.publish("a", owner: nil)
        let record = try store.publish(store.publication("a", [1], owner: "anna"), asOf: noon)
        #expect(record.sequence == record.revision)
        let anna = try store.ownerIndex("anna")
        #expect(anna.history == ["a"])
        try store.publish("a", owner: nil)
        let left = try store.ownerIndex("anna")
        #expect(left.feed == ["-a"])
        #expect(try store.verify().problems == [])
        _ = try store.apply(.delete(id: "a"))
        #expect(try store.ownerIndex("anna") == left)
    }

    @Test("One that had expired leaves its old owner as expired", arguments: [nil, "ben"])
    func expired(owner: String?) throws {
        try store.publish("a", owner: "anna", seconds: 10)
        let later = noon.adding(seconds: 10)
        let record = try store.publish("a", owner: owner, asOf: later) { $0.device = "phone" }
        let anna = try store.ownerIndex("anna")
        let end = later.adding(seconds: 30 * 86_400)
        #expect(
            anna.entries == [
                record.revision: SequenceEntry(.expired, id: "a", device: nil, end: end)
            ])
        #expect(record.createdAt == later)
        #expect(try store.verify().problems == [])
    }

    /// Swift holds é as one scalar and é as two for the same text.
    @Test("Owners, groups and ids that look alike and have other bytes are others")
    func equivalentTexts() throws {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        try store.publish("a", owner: composed, group: composed)
        let record = try store.publish("a", owner: decomposed, group: composed)
        let first = try store.indexCount()
        // Tombstone, finder and end of the one; place, group, expiry and usage of the other.
        #expect(first == 7)
        let patched = try store.patch("a") { $0.group = .set(decomposed) }
        #expect(!patched.isUnchanged)
        #expect(try store.indexCount() == 8)
        #expect(record.sequence == 2)
        #expect(try store.verify().problems == [])
    }
}
