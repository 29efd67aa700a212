import BlobStore
import TestSupport
import Testing

@testable import Replication

/// Segments that are collected, fences that are not, and fences that come under a name that was collected.
@Suite struct FenceTests {
    private let objects = MemoryObjects()
    private let clock = TestClock()
    private let schedule = BaseSchedule(
        intervalMilliseconds: 3_600_000, retentionMilliseconds: 3_600_000)

    /// A leader with a base, and followers that have all of it.
    private func shard(_ names: String...) throws -> (Member, [Member]) {
        let leader = try Member("leader", objects, clock: clock)
        leader.schedule = schedule
        try leader.beginWithBase()
        for number in 0..<4 { try leader.store.put("n\(number)", [UInt8(number)]) }
        try leader.ship()
        let others = try names.map { try Member($0, seededFrom: objects, clock: clock) }
        for other in others { try other.follow() }
        return (leader, others)
    }

    /// Makes bases until all that is in the log now is collected.
    private func collectAll(_ leader: Member) throws {
        let all = objects.names
        leader.appendsForBases = true
        for _ in 0..<3 {
            clock.advance(milliseconds: schedule.intervalMilliseconds)
            try leader.maintain()
        }
        clock.advance(milliseconds: ReplicationLimits.collectGraceMilliseconds)
        try leader.maintain()
        let left = Set(all.filter { $0.hasPrefix(ShardNames.logPrefix) }).intersection(
            objects.names)
        #expect(try left.allSatisfy { try kind($0) == .fence }, "\(left.sorted())")
    }

    private func kind(_ name: String) throws -> Segment.Kind {
        try Segment(try #require(objects[name])).head.kind
    }

    private func fences() throws -> [UInt64] {
        try objects.names.compactMap { ShardNames.number($0, after: ShardNames.logPrefix) }
            .filter { try kind(ShardNames.log($0)) == .fence }
    }

    /// One takes the lead, and sleeps before it creates its fence.
    ///
    /// - Returns: the number of the fence.
    private func takeOverLate(
        _ late: Member, meanwhile: @escaping () throws -> Void
    ) throws -> UInt64 {
        let number = late.position.number + 1
        var failure: (any Error)?
        late.bucket.onRequest = { [unowned late] (operation, name) in
            guard operation == .create, name == ShardNames.log(number) else { return }
            late.bucket.onRequest = { _, _ in }
            do { try meanwhile() } catch { failure = error }
        }
        #expect(throws: ReplicationError.tooOld(position: number - 1)) { try late.takeOver() }
        if let failure { throw failure }
        #expect(try kind(ShardNames.log(number)) == .fence, "it came late")
        return number
    }

    // The name was free: it led, and the leader was deposed without what it had acknowledged.
    @Test(
        "A fence under a name that was collected lets nobody lead, and nobody reads it as one",
        arguments: [false, true])
    func late(isBaseLast: Bool) throws {
        let (leader, others) = try shard("late", "behind", "forced")
        let last = try Segment(try #require(objects[ShardNames.log(leader.position.number)]))
        let number = try takeOverLate(others[0]) {
            try leader.store.put("kept", [9])
            try leader.ship()
            if isBaseLast {
                // The base is at the very name, and the log ends there.
                try leader.writeBase()
                let base = leader.position.number
                for name in objects.names
                where name.hasPrefix(ShardNames.basePrefix) && name < ShardNames.base(base) {
                    objects[name] = nil
                }
                for other in 1...base { objects[ShardNames.log(other)] = nil }
            } else {
                try collectAll(leader)
            }
        }
        let error = ReplicationError.tooOld(position: number - 1)
        #expect(throws: error) { try others[1].follow() }
        #expect(throws: error) { try others[1].takeOver() }
        // By force, and from the names alone: the log seems to continue. Also where the fence is not the first of them,
        // since a segment before it could not be deleted.
        let names = objects.names.filter { $0.hasPrefix(ShardNames.logPrefix) }
        let forced = others[2]
        for position in [forced.position, last.head.previous] {
            if position != forced.position { objects[ShardNames.log(number - 1)] = last.bytes }
            forced.log = LogFollower(storeID: forced.store.id, after: position)
            #expect(throws: ReplicationError.tooOld(position: position.number)) {
                try forced.takeOver(isLate: true)
            }
        }
        objects[ShardNames.log(number - 1)] = nil
        #expect(objects.names.filter { $0.hasPrefix(ShardNames.logPrefix) } == names)
        // The leader leads, and who begins with its base has all.
        try leader.store.put("later", [8])
        try leader.ship()
        let seeded = try Member("seeded", seededFrom: objects, clock: clock)
        try seeded.follow()
        #expect(try seeded.contents() == leader.contents())
        let restored = try Restorer(.end, asOf: noon).restore(
            to: TemporaryFolder().path, from: leader.bucket)
        #expect(restored.sequence == leader.store.lastSequence)
    }

    @Test(
        "A leader that slept past a failover and a collection finds the fence, and only then ends")
    func slept() throws {
        let (old, others) = try shard("new")
        try old.store.put("last", [7])
        // It arrives, and the answer is lost.
        let count = old.bucket.requestCount
        old.bucket.cut = { $0 >= count ? .after : .none }
        guard
            case .unknown = try old.shipper?.step(
                on: old.bucket, asOf: clock.now, appendsEmpty: false)
        else { throw TestFailure("not unknown") }
        old.bucket.cut = { _ in .none }
        let epoch = try #require(old.store.replicationState).epoch
        func leads() -> Bool {
            (try? LeadCheck.require(epoch, of: old.store, on: old.upkeep)) != nil
        }
        // Its own segment says nothing, but what is behind that does.
        #expect(leads())
        let new = others[0]
        new.schedule = schedule
        guard case .leads = try new.takeOver() else { throw TestFailure("no lead") }
        #expect(!leads())
        #expect(try new.store.get("last") == [7])
        let name = ShardNames.log(new.position.number - 1)
        try collectAll(new)
        #expect(objects[name] == nil)
        #expect(!leads(), "the name is free, and a base is after it")
        // What it sends again is what the shard has.
        guard
            case .shipped = try old.shipper?.step(
                on: old.bucket, asOf: clock.now, appendsEmpty: false)
        else { throw TestFailure("not shipped") }
        try old.store.put("zombie", [6])
        #expect(throws: TestFailure.self) { try old.ship() }
        #expect(try new.store.get("zombie") == nil)
        let seeded = try Member("seeded", seededFrom: objects, clock: clock)
        try seeded.follow()
        #expect(try seeded.contents() == new.contents())
    }

    // Followers that were a little behind would be rebuilt, and those that begin with an older base for ever.
    @Test("A follower that reads a fence before a base continues, where the log is there")
    func behind() throws {
        let (_, others) = try shard("new", "one", "two")
        let new = others[0]
        guard case .leads = try new.takeOver() else { throw TestFailure("no lead") }
        let fence = new.position.number
        try new.writeBase()
        #expect(new.position.number == fence + 1)
        // The base is damaged.
        let manifest = ShardNames.manifest(fence)
        objects[manifest]?[20] ^= 1
        try others[1].follow()
        #expect(try others[1].contents() == new.contents())
        // From the base before it.
        let restored = try Restorer(.end, asOf: noon).restore(
            to: TemporaryFolder().path, from: new.bucket)
        #expect(restored.base < fence && restored.sequence == new.store.lastSequence)
        // Its successor is lost: it might be any fence.
        objects[ShardNames.log(fence + 1)] = nil
        #expect(throws: ReplicationError.tooOld(position: fence - 1)) { try others[2].follow() }
    }

    @Test("All that every base is past is collected but fences, also those that nobody led by")
    func collected() throws {
        let (leader, others) = try shard("a", "b")
        // One died between its fence and the lead, and another one led.
        guard case .leads = try others[0].takeOver() else { throw TestFailure("no lead") }
        let unled = others[0].position.number
        try others[1].follow()
        guard case .leads = try others[1].takeOver() else { throw TestFailure("no lead") }
        let new = others[1]
        new.schedule = schedule
        #expect(new.position.number == unled + 1)
        #expect(throws: TestFailure.self) {
            try leader.store.put("zombie", [1])
            try leader.ship()
        }
        for _ in 0..<100 {
            // As long as a fence.
            _ = try new.shipper?.step(on: new.bucket, asOf: clock.now, appendsEmpty: true)
        }
        try new.store.put("last", [1])
        try new.ship()
        let before = try fences()
        #expect(before == [1, unled, unled + 1])
        for number in before {
            #expect(objects[ShardNames.log(number)]?.count == Segment.emptyByteCount)
        }
        var lists = new.upkeep.counts[.list] ?? 0
        try collectAll(new)
        lists = (new.upkeep.counts[.list] ?? 0) - lists
        #expect(try fences() == before)
        let names = objects.names.filter { $0.hasPrefix(ShardNames.logPrefix) }
        #expect(names.count < 10)
        print("collected \(unled + 100) names with \(lists) LIST of 7 names")
    }
}

extension Member {
    /// The last segment that this store has.
    var position: LogPosition { store.replicationState?.position ?? .start }
}
