import BlobStore
import Replication
import TestSupport
import Testing

/// The connection to the bucket is cut at one request of a whole run, whichever it is.
@Suite struct CutTests {
    /// Counts the requests of all clients, and cuts one of them.
    private final class Scissors {
        let kind: MemoryBucket.Cut
        let index: Int
        private(set) var requestCount = 0

        init(_ kind: MemoryBucket.Cut, at index: Int) {
            self.kind = kind
            self.index = index
        }

        func watch(_ bucket: MemoryBucket) {
            bucket.cut = { [self] _ in
                defer { requestCount += 1 }
                return requestCount == index ? kind : .none
            }
        }
    }

    private static let schedule = BaseSchedule(
        intervalMilliseconds: 200_000, retentionMilliseconds: 200_000)

    @Test("A whole run comes to the same, before and after whichever request it is cut")
    func everyRequest() throws {
        // Every request is the long turn: two runs for each.
        let stride = LongRuns.count("CUT_STRIDE", usually: 23)
        let requestCount = try run(Scissors(.none, at: -1))
        var runCount = 0
        for kind in [MemoryBucket.Cut.before, .after] {
            let first = stride > 1 && kind == .after ? stride / 2 : 0
            for index in Swift.stride(from: first, to: requestCount, by: stride) {
                do { _ = try run(Scissors(kind, at: index)) } catch {
                    Issue.record("cut \(kind) request \(index): \(error)")
                }
                runCount += 1
            }
        }
        print("cuts: \(requestCount) requests of a run, \(runCount) runs with one cut")
    }

    /// Tries again what was cut, as a daemon does.
    @discardableResult
    private func again<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch ReplicationError.bucket {} catch is BucketError {}
        return try body()
    }

    /// Ships, makes bases and packs, collects, starts again, seeds, follows and takes over.
    ///
    /// - Returns: how many requests that took.
    private func run(_ scissors: Scissors) throws -> Int {
        let history = try TestHistory(seed: 11, schedule: Self.schedule)
        let (old, objects, clock) = (history.leader, history.objects, history.clock)
        // It starts again with a position that is behind.
        old.savesShipped = false
        scissors.watch(old.bucket)
        scissors.watch(old.upkeep)
        objects.onConnect = scissors.watch
        func seeded(_ name: String) throws -> Member {
            let member = try again {
                try Member(name, seededFrom: objects, clock: clock)
            }
            member.schedule = Self.schedule
            try again { try member.follow() }
            return member
        }
        func work(_ leader: Member, _ milliseconds: Int64) throws {
            clock.advance(milliseconds: milliseconds)
            for _ in 0..<2 { try history.change(leader.store) }
            // A leader that is deposed without another one throws here.
            try again { try leader.ship() }
            try again { try leader.maintain() }
            try again { try leader.ship() }
        }
        let new = try seeded("new")
        for _ in 0..<3 { try work(old, 110_000) }
        try again { try new.follow() }
        try old.reopen()
        guard try again(old.resumeBehindFence) else {
            throw TestFailure("a leader without another one is deposed")
        }
        for _ in 0..<2 {
            try work(old, 400_000)
            try again { try new.follow() }
        }
        let third = try seeded("third")
        try history.change(old.store)
        try again { try old.ship() }

        // Who only looks is not cut.
        objects.onConnect = nil
        let witness = try Member("witness", seededFrom: objects, clock: clock)
        try witness.follow()
        guard try witness.contents() == old.contents(),
            witness.store.lastSequence == old.store.lastSequence
        else { throw TestFailure("the bucket has not what the leader shipped") }
        // Its follower has the last of it to apply when it takes over.
        guard case .leads = try again(new.takeOver) else { throw TestFailure("no lead") }
        try history.change(old.store)
        let before = old.store.shippedSequence
        #expect(throws: TestFailure.self, "the old leader was not deposed") {
            try again { try old.ship() }
        }
        guard old.store.shippedSequence == before else {
            throw TestFailure("the old leader shipped behind the fence")
        }
        for _ in 0..<2 {
            try work(new, 400_000)
            try again { try third.follow() }
        }

        let reader = try Member("reader", seededFrom: objects, clock: clock)
        try reader.follow()
        for member in [third, reader] {
            guard try member.contents() == new.contents(),
                member.store.lastSequence == new.store.lastSequence,
                member.store.lastSequence == new.store.shippedSequence
            else { throw TestFailure("\(member.name) has not what its leader has") }
        }
        let folder = TemporaryFolder()
        let restored = try Restorer(.end, asOf: clock.now).restore(
            to: folder.path, from: MemoryBucket(objects))
        guard restored.sequence == new.store.lastSequence,
            try BlobStore.openReadOnly(at: folder.path).tablesDigest() == new.store.tablesDigest()
        else { throw TestFailure("the restored store is not its leader's") }
        return scissors.requestCount
    }
}

extension Member {
    /// Goes on behind a fence of its own, as a daemon does at its start. May be tried again.
    ///
    /// - Returns: whether it leads still.
    fileprivate func resumeBehindFence() throws -> Bool {
        guard try Resumption.run(store, on: bucket) == .leads else { return false }
        let store = store
        let nonce = try store.prepareToLead(nonce: .random(), asOf: clock.now)
        let state = try #require(store.replicationState)
        var log = LogFollower(storeID: store.id, behind: state.position)
        let outcome = try TakeOver(storeID: store.id, nonce: nonce, host: name).run(
            &log, knownEpoch: state.epoch, on: bucket, sequence: { store.shippedSequence },
            asOf: clock.now
        ) { (segment) throws(ReplicationError) in try Resumption.note(segment, of: store) }
        guard case .leads(let epoch, let nonce, let fence) = outcome else { return false }
        try store.lead(
            epoch: epoch, nonce: nonce, behind: fence, isFirst: false, asOf: clock.now)
        shipper = Shipper(
            store, LogWriter(storeID: store.id, epoch: epoch, nonce: nonce, behind: fence))
        return true
    }
}
