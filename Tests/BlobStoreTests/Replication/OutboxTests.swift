import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import BlobStore

/// What waits to be shipped, and what a store says of its part in a shard.
@Suite struct OutboxTests {
    private let folder = TemporaryFolder()

    /// A leader compares its outbox with what is in the log, to find out whether it is its own.
    @Test("A batch has the same bytes pending, committed, replayed and shipped")
    func bytes() throws {
        let store = try folder.openLeader()
        try store.beginLogging()
        try store.put("short", [1, 2, 3])
        try store.put("long", SeededGenerator.bytes(60_000))
        try store.publish("owned", owner: "ann", group: "g")
        #expect(store.pendingChanges.isPending)
        let last = store.lastSequence
        let pending = try (0...last + 1).map { try store.outboxBatch($0) }
        #expect(pending.map { $0 != nil } == [false] + Array(repeating: true, count: 4) + [false])
        let replayed = try folder.afterKill { copy in
            try (0...last + 1).map { try copy.outboxBatch($0) }
        }
        #expect(replayed == pending)
        try store.commitPending()
        #expect(try (0...last + 1).map { try store.outboxBatch($0) } == pending)
        let shipped = try store.outbox(after: 0, byteCountMax: .max)
        #expect(shipped.map(\.bytes) == pending.compactMap(\.self))
        store.noteShipped(2, byteCount: 0, at: .name(1))
        try store.saveShipped()
        #expect(try store.outboxBatch(2) == nil && store.outboxBatch(3) == pending[3])
        try store.endLogging()
    }

    @Test("A store that steps down has nothing in its outbox, however much there was")
    func steppingDown() throws {
        let store = try folder.openLeader()
        try store.beginLogging()
        for number in 0..<2_500 { try store.put("\(number % 3)", [UInt8(number & 7)]) }
        try store.endLogging()
        let last = store.lastSequence
        store.noteShipped(last, byteCount: 0, at: .name(1))
        try store.stepDown(to: .follower)
        #expect(store.replicationState?.role == .follower)
        // What is left is removed beside other work.
        try folder.afterKill { copy in
            #expect(copy.lastSequence == last)
            #expect(copy.replicationState?.position == .name(1))
            try copy.lead(
                epoch: 2, nonce: .random(), after: .name(2), isFirst: false, asOf: noon)
            #expect(try copy.outboxCount() == 1)
            #expect(copy.lastSequence == last + 1)
        }
        try store.saveShipped()
        #expect(try store.outboxCount() == 0)
    }

    /// A leader once followed with a batch that its shard did not have.
    @Test("A leader with changes that are not shipped does not follow")
    func unshipped() throws {
        let store = try folder.openLeader()
        try store.put("a", [1])
        store.noteShipped(store.lastSequence - 1, byteCount: 0, at: .name(1))
        let error = try failure { try store.stepDown(to: .follower) }
        #expect(error.isCorrupt)
        #expect(store.replicationState?.role == .leader)
        try store.stepDown(to: .deposed)
        #expect(try store.outboxBatch(store.lastSequence) != nil)
        #expect(throws: StoreError.self) {
            try store.lead(
                epoch: 2, nonce: .random(), after: .name(2), isFirst: false, asOf: noon)
        }
    }

    /// Batches that an earlier lead had left were found behind the first ones of the next, after a restart, and
    /// shipped as if they were its own.
    @Test("A follower that takes the lead ships nothing of an earlier one")
    func stale() throws {
        var store = try folder.openLeader()
        for number in 0..<5 { try store.put("\(number)", [UInt8(number)]) }
        var state = try #require(store.replicationState)
        state.role = .follower
        state.sequence = 3
        try store.overwriteState(state)
        let copy = try folder.copy()
        store = try copy.openReplicated()
        #expect(store.lastSequence == 3)
        try store.lead(epoch: 2, nonce: .random(), after: .name(4), isFirst: false, asOf: noon)
        #expect(store.lastSequence == 4)
        #expect(try store.outboxBatch(5) == nil)
        try copy.afterKill { store in
            #expect(store.lastSequence == 4)
            let rest = try store.outbox(after: 3, byteCountMax: .max)
            #expect(rest.map(\.sequence) == [4])
        }
    }

    @Test("The lowest number of an unshipped blob is always known")
    func lowest() {
        var generator = SeededGenerator(seed: 5)
        var (blobs, all) = (UnshippedBlobs(), [(sequence: UInt64, number: UInt64)]())
        var (sequence, shipped) = (UInt64(0), UInt64(0))
        for _ in 0..<testRounds(4_000) {
            if generator.chance(55) {
                sequence += UInt64.random(in: 1...3, using: &generator)
                // Most come in order; one that was staged long ago does not.
                let number =
                    generator.chance(90)
                    ? sequence * 10 : UInt64.random(in: 0...sequence * 10, using: &generator)
                blobs.append(number, of: sequence)
                all.append((sequence, number))
            } else {
                shipped = min(sequence, shipped + UInt64.random(in: 0...5, using: &generator))
                blobs.removeAll(upTo: shipped)
                all.removeAll { $0.sequence <= shipped }
            }
            let lowest = all.map(\.number).min() ?? .max
            #expect(blobs.lowestNumber == lowest)
        }
    }

    /// Only the last nonce was remembered. A start that was interrupted twice while it took the lead found an
    /// epoch of its own, took it for another store's, and nobody led.
    @Test("Every run is known as the store's own until its fence is in the log")
    func runs() throws {
        var store = try folder.openLeader()
        let first = try #require(store.replicationState).nonce
        var runs = [first]
        for _ in 0..<3 {
            let nonce = try store.prepareToLead(nonce: .random(), asOf: noon)
            #expect(store.replicationState?.nonce == nonce)
            runs.append(nonce)
            // Its lead is as it was.
            #expect(store.replicationState?.role == .leader && store.lastSequence == 1)
            let copy = try folder.copy()
            #expect(try copy.openReplicated().replicationState?.nonces == runs)
        }
        #expect(runs.allSatisfy { store.isOwn($0) } && !store.isOwn(.random()))
        // Again: nothing is written.
        let transaction = try store.lastTransaction()
        #expect(try store.prepareToLead(nonce: runs[1], asOf: noon) == runs[3])
        #expect(try store.lastTransaction() == transaction)
        // Where as many are remembered as may be, none is forgotten: the newest is used again.
        while runs.count < ReplicationState.nonceCountMax {
            runs.append(try store.prepareToLead(nonce: .random(), asOf: noon))
        }
        #expect(try store.prepareToLead(nonce: .random(), asOf: noon) == runs.last)
        #expect(store.replicationState?.nonces == runs)
        try store.lead(
            epoch: 2, nonce: runs[5], after: .name(3), isFirst: false, asOf: noon)
        #expect(store.replicationState?.nonces == [runs[5]])
        #expect(store.replicationState?.epoch == 2 && store.lastSequence == 2)
        // No epoch begins twice.
        #expect(throws: StoreError.self) {
            try store.lead(
                epoch: 2, nonce: runs[5], after: .name(3), isFirst: false, asOf: noon)
        }
        let copy = try folder.copy()
        store = try copy.openReplicated()
        #expect(store.replicationState?.nonces == [runs[5]])
    }

    @Test("A follower prepares to lead, and goes on following")
    func follower() throws {
        let store = try folder.openLeader()
        store.noteShipped(1, byteCount: 0, at: .name(2))
        try store.stepDown(to: .follower)
        let nonce = try store.prepareToLead(nonce: .random(), asOf: noon)
        let state = try #require(store.replicationState)
        #expect(state.role == .follower && state.nonce == nonce && state.nonces.count == 2)
        #expect(state.position == .name(2) && state.sequence == 1)
    }

    // They were: a link that a lost leader's push had brought led to what the next one published for somebody else.
    @Test("No id that a lost leader assigned is assigned in a later epoch")
    func assignedIDs() throws {
        let store = try folder.openLeader()
        #expect(try store.put(nil, [1]).id == "0")
        store.noteShipped(store.lastSequence, byteCount: 0, at: .name(1))
        let copies = [try folder.copy(), try folder.copy()]
        var ids = try (0..<3).map { _ in try store.put(nil, [1]).id }
        #expect(ids == ["1", "2", "3"])
        // Who took epoch 2 may have assigned some, and have left nothing in the log.
        for (copy, epoch) in zip(copies, [2, 3] as [UInt64]) {
            let next = try copy.openReplicated()
            let before = try next.counters()
            try next.lead(
                epoch: epoch, nonce: .random(), after: .name(2), isFirst: false, asOf: noon)
            let gap = StoreLimits.failoverGap * (epoch - 1)
            let counters = try next.counters()
            #expect(counters.nextNotificationNumber == before.nextNotificationNumber + gap)
            #expect(counters.revision == before.revision + gap)
            #expect(counters.nextBlobNumber == before.nextBlobNumber + gap)
            ids += try (0..<3).map { _ in try next.put(nil, [2]).id }
        }
        #expect(Set(ids).count == 9, "\(ids)")
        #expect(ids.last == "\(2 * StoreLimits.failoverGap + 3)")
    }

    // Changes between the start and the first answer of the bucket had no gap: a device that read them from a disk that was
    // rolled back missed the changes of the shard that had the same revisions.
    @Test(
        "Copies of a leader that do not know yet whether they lead assign different ids, and skip no more"
    )
    func unconfirmed() throws {
        let store = try folder.openLeader()
        try store.put(nil, [1])
        store.noteShipped(store.lastSequence, byteCount: 0, at: .name(1))
        let before = try store.counters()
        var ids: [String] = []
        for _ in 0..<2 {
            try folder.afterKill { copy in
                _ = try copy.delete("nothing", asOf: noon)
                #expect(try copy.counters() == before)
                ids.append(try copy.put(nil, [1]).id)
                let counters = try copy.counters()
                let gap = counters.revision - before.revision - 1
                #expect((1...StoreLimits.unconfirmedGapMax).contains(gap))
                #expect(
                    counters.nextNotificationNumber == before.nextNotificationNumber + gap + 1)
                // Once.
                try copy.put(nil, [1])
                #expect(try copy.counters().revision == counters.revision + 1)
            }
        }
        #expect(ids[0] != ids[1])
    }

    // Its changes were said to be of that epoch, and a start that did not know of the fence gave those after them an earlier
    // one: the store was called damaged.
    @Test("A leader that found a later fence of its own is in its old epoch until it leads")
    func fenceOfItsOwn() throws {
        let store = try folder.openLeader()
        try store.put(nil, [1])
        try folder.afterKill { copy in
            copy.noteShipped(copy.lastSequence, byteCount: 0, at: .name(2), of: 5)
            try copy.put(nil, [1])
            let epochs = copy.core.replication.shard.withLock { $0.epochs.epochs }
            let blobs = try copy.counters().nextBlobNumber
            #expect(epochs.map(\.epoch) == [1, 1])
            try copy.lead(
                epoch: 6, nonce: .random(), after: .name(3), isFirst: false, asOf: noon)
            let after = try copy.counters()
            #expect(after.revision == epochs[1].revision + 1 + 5 * StoreLimits.failoverGap)
            // No random gap keeps these apart.
            #expect(after.nextBlobNumber == blobs + 5 * StoreLimits.failoverGap)
        }
    }

    // It was of the epoch before, which had ended with the batch before: whoever came back with it was told that the change
    // was lost.
    @Test("What is said of the last batch while an epoch begins is never taken back")
    func readWhileEpochBegins() throws {
        let store = try folder.openLeader()
        let isDone = Atomic(false)
        let tokens = Mutex<Set<[UInt64]>>([])
        DispatchQueue.concurrentPerform(iterations: 2) { thread in
            guard thread == 0 else {
                while !isDone.load(ordering: .acquiring) {
                    let sequence = store.lastSequence
                    let token = [store.lastEpoch ?? 1, sequence]
                    tokens.withLock { _ = $0.insert(token) }
                }
                return
            }
            defer { isDone.store(true, ordering: .releasing) }
            do {
                for epoch in 2..<50 as Range<UInt64> {
                    store.noteShipped(store.lastSequence, byteCount: 0, at: .name(epoch))
                    try store.lead(
                        epoch: epoch, nonce: .random(), after: .name(epoch), isFirst: false,
                        asOf: noon)
                }
            } catch { Issue.record(error) }
        }
        let lost = tokens.withLock { $0.filter { !store.hasSequence($0[1], of: $0[0]) } }
        #expect(lost == [])
    }

    @Test("An epoch whose numbers would be too high does not begin")
    func noRoomForGap() throws {
        let store = try folder.openLeader()
        store.noteShipped(1, byteCount: 0, at: .name(1))
        let before = try store.counters()
        for epoch in [1 << 31, 1 << 33, StoreLimits.counterMax] {
            let error = try failure {
                try store.lead(
                    epoch: epoch, nonce: .random(), after: .name(2), isFirst: false, asOf: noon)
            }
            #expect(error.isCorrupt)
        }
        #expect(try store.counters() == before)
        try store.lead(epoch: 2, nonce: .random(), after: .name(2), isFirst: false, asOf: noon)
    }

    /// A kill between the first epoch and the lead left an epoch in the bucket that the store did not know.
    @Test("A store that was about to begin a shard knows its run, and belongs to none")
    func candidate() throws {
        var store = try folder.open()
        let nonce = try store.prepareToLead(nonce: .random(), asOf: noon)
        #expect(store.isOwn(nonce) && store.replicationState == nil)
        try store.put("a", [1])
        let copy = try folder.copy()
        store = try copy.open()
        #expect(store.isOwn(nonce) && store.replicationState == nil)
        #expect(try store.verify().problems == [])
        let second = try store.prepareToLead(nonce: .random(), asOf: noon)
        try store.lead(epoch: 1, nonce: nonce, after: .start, isFirst: true, asOf: noon)
        #expect(store.isOwn(nonce) && !store.isOwn(second))
        #expect(store.replicationState?.role == .leader && store.lastSequence == 1)
        #expect(try store.outbox(after: 0, byteCountMax: .max).map(\.sequence) == [1])
    }
}
