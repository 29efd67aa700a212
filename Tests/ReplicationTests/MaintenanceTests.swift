import BlobStore
import Replication
import TestSupport
import Testing

/// What a leader does in its bucket beside shipping.
@Suite struct MaintenanceTests {
    /// A leader with its first base, that makes one each minute and keeps it for as long.
    private static func leader(_ objects: MemoryObjects, _ clock: TestClock) throws -> Member {
        let leader = try Member("one", objects, clock: clock)
        leader.schedule = BaseSchedule(
            intervalMilliseconds: 60_000, retentionMilliseconds: 60_000)
        try leader.beginWithBase()
        return leader
    }

    @Test("An idle hour takes at most 720 PUT")
    func idleHour() throws {
        let objects = MemoryObjects()
        let clock = TestClock()
        let leader = try Member("one", objects, clock: clock)
        leader.appendsForBases = true
        try leader.beginWithBase()
        // An hour in which a base is made, too.
        clock.advance(milliseconds: 86_400_000 - 1_800_000)
        try leader.maintain()
        let (before, names) = ((leader.bucket.counts, leader.upkeep.counts), objects.count("log/"))
        for _ in 0..<3_600 {
            clock.advance(milliseconds: 1_000)
            try leader.maintain()
        }
        func count(_ operation: MemoryBucket.Operation) -> Int {
            (leader.bucket.counts[operation] ?? 0) + (leader.upkeep.counts[operation] ?? 0)
                - (before.0[operation] ?? 0) - (before.1[operation] ?? 0)
        }
        // The base takes one name of the log.
        #expect(objects.count("base/") == 4)
        #expect(objects.count("log/") - names <= 1)
        let puts = count(.create) + count(.put)
        // What the other threads ask meanwhile.
        let host = ReplicaUnderTest("two", MemoryObjects())
        try host.start()
        try host.lead()
        let (first, end) = (host.bucket.counts, host.uptime + 3_600_000)
        try host.run(20_000) { host.uptime >= end }
        func beats(_ operation: MemoryBucket.Operation) -> Int {
            (host.bucket.counts[operation] ?? 0) - (first[operation] ?? 0)
        }
        print(
            "an idle hour: \(puts + beats(.put)) PUT, \(count(.get) + beats(.get)) GET, \(count(.list) + beats(.list)) LIST, \(count(.delete)) DELETE"
        )
        #expect(puts + beats(.put) <= 720)
        #expect(beats(.create) == 0 && beats(.list) == 0)
    }

    // A leader whose disk was full for longer than the retention could not write down what it had shipped. It deleted
    // that from the log all the same, found its own place gone when it was started, and deposed itself.
    @Test("A leader that cannot write down what it shipped keeps what its start reads of the log")
    func unsavedPosition() throws {
        let clock = TestClock()
        let objects = MemoryObjects()
        let leader = try Member("one", objects, clock: clock)
        leader.schedule = BaseSchedule(
            intervalMilliseconds: 3_600_000, retentionMilliseconds: 3_600_000)
        leader.savesShipped = false
        try leader.begin()
        for number in 0..<400 {
            try leader.store.put("n\(number % 20)", [UInt8(truncatingIfNeeded: number)])
            try leader.ship()
            clock.advance(milliseconds: 60_000)
            try leader.maintain()
        }
        #expect(objects.count("base/") < 12)
        #expect(objects[ShardNames.log(2)] != nil)
        try leader.reopen()
        try leader.resume()
        #expect(leader.store.shippedSequence == leader.store.lastSequence)
    }

    @Test("A segment that the bucket does not give is left behind once a base is past it")
    func forbidden() throws {
        let clock = TestClock()
        let objects = MemoryObjects()
        let leader = try Self.leader(objects, clock)
        try leader.store.put("a", [1])
        try leader.ship()
        let forbidden = ShardNames.log(leader.position.number)
        var (refusedCount, readCount) = (0, 0)
        leader.upkeep.onRequest = { (operation, name) throws(ReplicationError) in
            guard operation == .get, name.hasPrefix(ShardNames.logPrefix) else { return }
            guard name == forbidden else { return readCount += 1 }
            refusedCount += 1
            throw ReplicationError.bucket("forbidden", isLasting: true)
        }
        var steps: [BucketMaintenance.Step] = []
        for number in 0..<40 {
            try leader.store.put("n\(number)", [UInt8(number)])
            try leader.ship()
            clock.advance(milliseconds: 60_000)
            steps += try leader.maintain()
        }
        #expect(refusedCount > 0 && readCount > 10, "\(refusedCount), \(readCount)")
        #expect(objects[forbidden] == nil, "it was collected")
        let isLost = steps.contains { if case .lostSegment = $0 { true } else { false } }
        #expect(!isLost)
    }

    @Test("A base without its manifest is deleted a day later, and never written over")
    func unfinished() throws {
        let clock = TestClock()
        let objects = MemoryObjects()
        let leader = try Member("one", objects, clock: clock)
        try leader.begin()
        try leader.ship()
        leader.upkeep.onRequest = { (operation, name) throws(ReplicationError) in
            if name.hasSuffix("manifest.json") { throw ReplicationError.bucket("away") }
        }
        #expect(throws: (any Error).self) { try leader.maintain() }
        leader.upkeep.onRequest = { _, _ in }
        try leader.reopen()
        try leader.resume()
        // The same segment is the last one still.
        try leader.maintain()
        #expect(try BaseManifest.numbers(on: leader.bucket) == [])
        _ = try leader.shipper?.step(on: leader.bucket, asOf: clock.now, appendsEmpty: true)
        try leader.maintain()
        #expect(try BaseManifest.numbers(on: leader.bucket).count == 1)
        let count = objects.count("base/")
        clock.advance(milliseconds: ReplicationLimits.unfinishedBaseMilliseconds)
        try leader.maintain()
        #expect(objects.count("base/") == count - 1)
        #expect(try BaseManifest.numbers(on: leader.bucket).count == 1)
    }

    @Test("Bases are made and names deleted, too, where the log grows as fast as it is read")
    func constantChanges() throws {
        let clock = TestClock()
        let objects = MemoryObjects()
        let leader = try Self.leader(objects, clock)
        let first = objects.names.filter { $0.hasPrefix("base/") }
        var count = 0
        leader.upkeep.pageNameCount = 1_000
        leader.upkeep.onRequest = { (operation, name) throws(ReplicationError) in
            guard operation == .get, name.hasPrefix("log/") else { return }
            count += 1
            do {
                try leader.store.put("n\(count % 10)", [UInt8(truncatingIfNeeded: count)])
                try leader.ship()
            } catch { throw ReplicationError.bucket("\(error)") }
        }
        try leader.store.put("first", [1])
        try leader.ship()
        for _ in 0..<400 {
            clock.advance(milliseconds: 10_000)
            _ = try leader.maintenance?.step(on: leader.upkeep)
        }
        leader.upkeep.onRequest = { _, _ in }
        #expect(count > 100)
        #expect(!objects.names.contains { first.contains($0) }, "the first base is there still")
        #expect(objects.count("log/") < count / 2, "\(objects.count("log/")) of \(count)")
        let follower = try Member("two", seededFrom: objects)
        try follower.follow()
        #expect(try follower.contents() == leader.contents())
    }
}

/// What becomes of a shard whose bucket loses a segment.
@Suite("Lost segments")
struct LostSegmentTests {
    // A proxy answered 200 to a segment that it did not store: followers waited without a word, and a forced
    // promotion lost what came later.
    // One that was damaged and still listed ended bases and collection for good.
    @Test(
        "A leader whose bucket lost or damaged a segment makes a base, and a follower begins with it",
        arguments: [false, true])
    func base(isDamaged: Bool) throws {
        let objects = MemoryObjects()
        let leader = try Member("leader", objects)
        try leader.beginWithBase()
        let follower = try Member("follower", seededFrom: objects, clock: leader.clock)
        try leader.store.put("lost", [1])
        try leader.ship()
        let number = try #require(leader.store.replicationState).position.number
        objects[ShardNames.log(number)] = isDamaged ? [1, 2, 3] : nil
        try leader.store.put("later", [2])
        try leader.ship()
        #expect(throws: ReplicationError.self) { try follower.follow() }
        for _ in 0..<2 { #expect(throws: ReplicationError.self) { try leader.maintain() } }
        let steps = try leader.maintain()
        #expect(steps.contains(.lostSegment(number)))
        if !isDamaged {
            #expect(throws: ReplicationError.tooOld(position: number - 1)) { try follower.follow() }
        }
        let seeded = try Member("seeded", seededFrom: objects, clock: leader.clock)
        try seeded.follow()
        #expect(try seeded.contents() == leader.contents())
        #expect(try seeded.store.get("lost") == [1])
    }

    @Test("A follower at a damaged segment is rebuilt from the base after it, not at once")
    func rebuilt() throws {
        let objects = MemoryObjects()
        let a = ReplicaUnderTest("a", objects)
        try a.start()
        try a.lead()
        try a.writeBase()
        let b = ReplicaUnderTest("b", objects, mayBegin: false)
        try b.start()
        try a.store.put("damaged", [1])
        try a.lead()
        let name = ShardNames.log(a.store.replicationState!.position.number)
        // Only its SHA-256 tells.
        objects[name]![objects[name]!.count - 40] ^= 1
        for _ in 0..<5 {
            b.uptime += 4_000
            #expect(throws: ReplicationError.self) { try b.step() }
        }
        #expect(b.restartReason == nil)
        // It is started again, and looks at it for a while before it is rebuilt.
        b.kill()
        try b.start()
        try a.store.put("later", [2])
        try a.lead()
        try a.writeBase()
        for _ in 0..<5 { #expect(throws: ReplicationError.self) { try b.step() } }
        #expect(b.restartReason == nil)
        b.uptime += ReplicationLimits.lostSegmentMilliseconds
        // One that cannot be used is none: it was rebuilt from an older one, and stood here again.
        let base = try #require(BaseManifest.numbers(on: b.bucket).last)
        let manifest = objects[ShardNames.manifest(base)]
        objects[ShardNames.manifest(base)] = [1]
        #expect(throws: ReplicationError.self) { try b.step() }
        #expect(b.restartReason == nil)
        objects[ShardNames.manifest(base)] = manifest
        try b.step()
        #expect(b.restartReason != nil)
        try b.stepOrRestart()
        try b.run { b.store.lastSequence == a.store.lastSequence }
        #expect(try b.store.get("damaged") == [1])
    }

    // Maintenance was one chain, which its first error ended.
    @Test("Bases are made and old ones deleted where the log cannot be read")
    func jobs() throws {
        let (objects, clock) = (MemoryObjects(), TestClock())
        let leader = try Member("leader", objects, clock: clock)
        leader.schedule = BaseSchedule(
            intervalMilliseconds: 3_600_000, retentionMilliseconds: 3_600_000)
        try leader.beginWithBase()
        let first = objects.names.filter { $0.hasPrefix("base/") }
        leader.upkeep.onRequest = { (operation, name) throws(ReplicationError) in
            guard operation == .get && name.hasPrefix("log/"), objects[name] != nil else { return }
            throw ReplicationError.bucket("403 AccessDenied", isLasting: true)
        }
        for number in 0..<6 {
            clock.advance(milliseconds: 1_800_000)
            try leader.store.put("n\(number)", [1])
            try leader.ship()
            for _ in 0..<40 { _ = try? leader.maintenance?.step(on: leader.upkeep) }
            try leader.ship()
            for _ in 0..<40 { _ = try? leader.maintenance?.step(on: leader.upkeep) }
        }
        #expect(try #require(BaseManifest.numbers(on: leader.bucket).last) > 3)
        #expect(!objects.names.contains { first.contains($0) })
    }
}
