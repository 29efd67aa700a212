import TestSupport
import Testing

@testable import BlobStore

/// A leader that is killed has all that it acknowledged, and ships on where it was. A follower does it again.
@Suite struct LeaderCrashTests {
    private let folder = TemporaryFolder()

    /// Removing shipped batches from the outbox once took at most 1,024 with a commit, and wrote a sequence that
    /// fitted, beside the newest position, while the bytes of all shipped blobs were free to go. After a kill
    /// the leader shipped batches again whose bytes were gone: it never shipped anything any more.
    @Test("A leader that is killed while it catches up goes on behind what it shipped")
    func catchingUp() throws {
        let store = try folder.openLeader()
        try store.beginLogging()
        var log = ShippedLog()
        var generator = SeededGenerator(seed: 4)
        for number in 0..<2_600 {
            try store.put("\(number % 5)", generator.bytes(40))
        }
        try store.commitPending()
        #expect(try store.outboxCount() >= 2_600)
        try log.ship(store)
        for round in 0..<4 {
            try store.put("more", generator.bytes(100 + round))
            try store.commitPending()
            _ = try store.freeOrphans(byteCountMax: 1 << 30)
            try folder.afterKill { try log.check($0, upTo: store.lastSequence, "round \(round)") }
        }
        #expect(try store.outboxCount() < 10)
        try log.ship(store)
        try store.saveShipped()
        try store.commitPending()
        #expect(try store.outboxCount() == 0)
        let state = try #require(store.replicationState)
        #expect(state.sequence == store.lastSequence)
        #expect(try folder.afterKill { $0.replicationState } == state)
        try store.endLogging()
    }

    /// Blobs of shipped batches were free to go before the file said that they are shipped: after a kill it
    /// still named them.
    @Test("The bytes of a shipped batch stay until the file says that it is shipped")
    func bytesStay() throws {
        let store = try folder.openLeader()
        var log = ShippedLog()
        try store.put("a", Array(repeating: 1, count: 90_000))
        try store.delete("a", asOf: noon)
        try log.ship(store)
        // Of its own, in a transaction that does not write the state.
        #expect(try store.freeOrphans(byteCountMax: 1 << 30).blobs == 0)
        try folder.afterKill { try log.check($0, upTo: store.lastSequence) }
        try store.saveShipped()
        #expect(try store.freeOrphans(byteCountMax: 1 << 30).blobs == 1)
        try folder.afterKill { try log.check($0, upTo: store.lastSequence) }
    }

    /// A leader without changes never wrote how far the log was that its heartbeats made longer. After weeks a
    /// start began to read at a name that had been deleted.
    @Test("The position is written while nothing is changed, now and then")
    func heartbeats() throws {
        let store = try folder.openLeader()
        let last = store.lastSequence
        for number in 1...2 * StoreLimits.unsavedPositionCountMax {
            store.noteShipped(last, byteCount: 0, at: .name(number))
            if number > 1 { try store.saveShipped() }
        }
        let saved = try folder.afterKill { $0.replicationState?.position.number }
        #expect(try #require(saved) > StoreLimits.unsavedPositionCountMax)
    }

    /// When something failed between the log and the commit, the acknowledged records of the log were forgotten:
    /// the next batch was written behind them, and its commit began the log again.
    @Test("Where the outbox cannot be collected, what was acknowledged is committed without it")
    func damagedOutbox() throws {
        let store = try folder.openReplicated()
        // A key that is none, before all others of the outbox.
        try store.overwriteState(nil) { (transaction) throws(StoreError) in
            try transaction.transaction.set(
                [IndexKeys.outboxPrefix].span.bytes, to: [UInt8]([1]).span.bytes,
                in: transaction.tables.index)
        }
        try store.lead(epoch: 1, nonce: .random(), after: .start, isFirst: true, asOf: noon)
        try store.beginLogging()
        try store.put("a", [1])
        try store.put("b", [2])
        try store.commitPending()
        #expect(!store.pendingChanges.isPending)
        try store.put("c", [3])
        #expect(store.pendingChanges.isPending)
        func expectAll(_ store: BlobStore) throws {
            for (id, byte) in [("a", 1), ("b", 2), ("c", 3)] as [(String, UInt8)] {
                #expect(try store.ownedPayload(for: id, asOf: noon) == [byte])
            }
        }
        try folder.afterKill(expectAll)
        // So is a batch after which all are committed.
        let outcome = try store.apply(
            [.publish(try store.publication("d", [4]))], asOf: noon, isCommitting: true)
        #expect(outcome.map(\.isDone) == [true] && !store.pendingChanges.isPending)
        try expectAll(store)
        #expect(try store.lookUp("d") == .found)
        // Whoever reads the outbox is told of it.
        let error = try failure { try store.saveShipped() }
        #expect(error.isCorrupt)
    }

    private static func makeFollower(in folder: TemporaryFolder) throws {
        try folder.openReplicated().overwriteState(
            ReplicationState(
                role: .follower, epoch: 1, nonce: .random(), position: .start, sequence: 0))
    }

    /// Every batch was budgeted with as much room as a single change may take, and all of a segment at once: a
    /// follower that was behind applied nothing where a thirtieth of that was free.
    @Test("Many small batches are applied in steps that fit")
    func tight() throws {
        let (leaderFolder, folder) = (TemporaryFolder(), TemporaryFolder())
        let leader = try leaderFolder.openLeader()
        try leader.beginLogging()
        for number in 0..<1_000 { try leader.put("\(number % 40)", [UInt8(number & 255)]) }
        try leader.endLogging()
        let items = try leader.outbox(after: 0, byteCountMax: .max).map { batch in
            (
                batch: batch,
                contents: try batch.blobs.map { try leader.storedBytes(of: $0)[...] }
            )
        }
        #expect(items.count > 1_000)
        try Self.makeFollower(in: folder)
        let follower = try folder.openReplicated { $0.mapByteCountMax = 8 << 20 }
        try follower.apply(items, of: 1, at: .name(7))
        #expect(follower.lastSequence == leader.lastSequence)
        #expect(follower.replicationState?.position == .name(7))
        for id in 0..<40 {
            #expect(
                try follower.ownedPayload(for: "\(id)", asOf: noon)
                    == leader.ownedPayload(for: "\(id)", asOf: noon))
        }
        // Again, as after an answer that was lost, and with a gap.
        try follower.apply(items, of: 1, at: .name(7))
        var gap = items
        gap.remove(at: 4)
        let other = TemporaryFolder()
        try Self.makeFollower(in: other)
        let second = try other.openReplicated()
        let error = try failure { try second.apply(gap, of: 1, at: .name(7)) }
        #expect(error.isCorrupt && second.lastSequence == 0)
    }
}
