import TestSupport
import Testing

@testable import BlobStore

/// What a store refuses that does not lead its shard, whoever asks for it.
@Suite struct EndedLeadTests {
    private let folder = TemporaryFolder()

    /// Each change that would be shipped, as clients and as the daemon's own threads make it.
    private static let changes: [(name: String, body: @Sendable (BlobStore) throws -> Void)] = [
        ("a publish", { try $0.put("late", [1]) }),
        ("a long publish", { try $0.put("late", SeededGenerator.bytes(200_000)) }),
        ("a delete", { try $0.delete("short", asOf: noon) }),
        ("an announcement", { _ = try $0.announceCategoryEdits(asOf: noon) }),
        ("forgetting", { _ = try $0.pruneRetired(upTo: .max, asOf: noon) }),
        ("a sweep", { _ = try $0.sweepExpired(asOf: noon.adding(seconds: 9_000), limit: 9) }),
    ]

    /// A leader that has something for each of them to do, and has shipped all of it.
    private func leader(isLogging: Bool) throws -> BlobStore {
        let store = try folder.openLeader()
        if isLogging { try store.beginLogging() }
        try store.put("short", [1])
        try store.put("long", SeededGenerator.bytes(100_000))
        try store.delete("long", asOf: noon)
        _ = try store.apply(.setCategory(Category(name: "ask", actions: [])))
        try store.publish("owned", owner: "ann") { $0.details.category = "ask" }
        let action = NotificationAction(identifier: "yes", title: "Yes")
        let edit = Change.setCategory(Category(name: "ask", actions: [action]))
        _ = try store.apply(checked: [CheckedChange(edit, asOf: noon)], asOf: noon)
        #expect(store.hasCategoryEdits)
        try store.commitPending()
        store.noteShipped(store.lastSequence, byteCount: 0, at: .name(1))
        return store
    }

    private func expectRefusals(_ store: BlobStore, countMax: Int = .max) throws {
        let last = store.lastSequence
        let counters = try store.counters()
        for (name, change) in Self.changes.prefix(countMax) {
            #expect(throws: StoreError.notLeading, "\(name)") { try change(store) }
        }
        #expect(store.lastSequence == last)
        #expect(try store.counters() == counters)
    }

    // An announcement of a category's edit came after the end of the epoch: the store could not follow, as it had more
    // than its shard, and took no changes until it was started again and rebuilt.
    @Test("After its end a leader makes no change that would be shipped", arguments: [false, true])
    func ended(isLogging: Bool) throws {
        let store = try leader(isLogging: isLogging)
        store.refusesChanges = true
        try expectRefusals(store)
        // It goes on where the request was withdrawn.
        store.refusesChanges = false
        #expect(try store.pruneRetired(upTo: .max, asOf: noon) == 1)
        store.noteShipped(store.lastSequence, byteCount: 0, at: .name(2))
        store.refusesChanges = true
        if isLogging { try store.endLogging() }
        try store.stepDown(to: .follower)
        #expect(store.replicationState?.role == .follower)
    }

    // A follower that made one was not as its leader, without a word.
    @Test("A follower makes none either, and does again what a leader shipped")
    func follower() throws {
        let store = try leader(isLogging: false)
        let other = TemporaryFolder()
        for name in folder.names where !name.hasSuffix(".lock") {
            try other.write(name, folder.read(name))
        }
        let follower = try other.openReplicated()
        follower.noteShipped(follower.lastSequence, byteCount: 0, at: .name(1))
        try follower.stepDown(to: .follower)
        try expectRefusals(follower)
        // What is its own it does.
        let before = follower.lastSequence
        try follower.saveShipped()
        _ = try follower.freeOrphans(byteCountMax: 1 << 30)
        _ = try follower.prepareToLead(nonce: .random(), asOf: noon)
        for (_, change) in Self.changes.dropFirst(2) { try change(store) }
        try store.put("late", [7])
        let batches = try store.outbox(after: before, byteCountMax: .max)
        #expect(batches.count > 3)
        try follower.apply(
            batches.map { batch in
                (batch, try batch.shippedBlobs.map { try store.storedBytes(of: $0)[...] })
            }, of: 1, at: .name(2))
        #expect(follower.lastSequence == store.lastSequence)
        // For the others there is nothing to do any more.
        try expectRefusals(follower, countMax: 2)
        // So it is after a start, and until it leads.
        let copy = try other.copy()
        let opened = try copy.openReplicated()
        #expect(throws: StoreError.notLeading) { try opened.put("late", [1]) }
        try opened.lead(epoch: 2, nonce: .random(), after: .name(3), isFirst: false, asOf: noon)
        try opened.put("mine", [1])
    }
}
