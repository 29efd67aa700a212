import BlobStore
import TestSupport
import Testing

@testable import Replication

/// Followers and hosts that take the lead while they are behind.
@Suite struct ReadAheadTests {
    private let objects = MemoryObjects()

    private func leader() throws -> ReplicaUnderTest { try .leader(objects) }

    private func write(_ count: Int, _ host: ReplicaUnderTest) throws {
        for _ in 0..<count {
            try host.store.put("n\(host.store.lastSequence)", [1])
            try host.run { host.store.shippedSequence == host.store.lastSequence }
        }
    }

    private func follower(_ name: String) throws -> ReplicaUnderTest {
        let host = ReplicaUnderTest(name, objects, mayBegin: false)
        try host.start()
        return host
    }

    // It read one name after the other: 29 a second where a GET takes 34 ms. A leader whose PUTs are quicker was never
    // reached.
    @Test("A follower that is behind reads many names at once, and one that is not asks for one")
    func ahead() throws {
        let a = try leader()
        try write(300, a)
        let b = try follower("b")
        let first = b.bucket.widths.count
        try b.run { b.store.lastSequence == a.store.lastSequence }
        let widths = b.bucket.widths[first...]
        #expect(widths.max() == ReplicationLimits.readAheadCountMax)
        #expect(widths.count < 30)
        #expect(try b.store.get("n200") == a.store.get("n200"))
        // At the end.
        for _ in 0..<3 { try b.step() }
        var count = b.bucket.requestCount
        for _ in 0..<10 { try b.step() }
        #expect(b.bucket.requestCount == count + 10)
        count = b.bucket.requestCount
        try write(1, a)
        for _ in 0..<2 { try b.step() }
        #expect(b.store.lastSequence == a.store.lastSequence)
        #expect(b.bucket.requestCount == count + 2)
    }

    // It said that it was milliseconds behind as long as it read, however old that was.
    @Test("A follower that reads what is old is as late as that, and at the end it is not")
    func lateness() throws {
        let a = try leader()
        try write(300, a)
        let b = try follower("b")
        b.uptime += 3_600_000
        // So that it does not read all of it in one step.
        b.bucket.onRequest = { [unowned b] (_, _) in b.uptime += 10 }
        var latest: Int64 = 0
        try b.run {
            let isUnderWay = 10..<250 ~= b.store.lastSequence
            if isUnderWay { latest = max(latest, b.uptime - b.movedAt) }
            return b.store.lastSequence == a.store.lastSequence
        }
        #expect(3_600_000..<3_700_000 ~= latest)
        for _ in 0..<3 { try b.step() }
        try write(1, a)
        for _ in 0..<2 { try b.step() }
        #expect(b.store.lastSequence == a.store.lastSequence)
        #expect(b.uptime - b.movedAt < 60_000, "\(b.uptime - b.movedAt)")
    }

    /// It was kept, and the follower paused for good.
    @Test(
        "An object that does not continue the log, and was read ahead, is read again when it is another"
    )
    func foreignAhead() throws {
        let (a, other) = (try leader(), MemoryObjects())
        try write(60, a)
        let host = ReplicaUnderTest("o", other)
        try host.start()
        try host.lead()
        try write(60, host)
        let name = ShardNames.log(40)
        let right = try #require(objects[name])
        objects[name] = other[name]
        let b = try follower("b")
        #expect(throws: ReplicationError.self) {
            try b.run { b.store.lastSequence == a.store.lastSequence }
        }
        objects[name] = right
        try b.run { b.store.lastSequence == a.store.lastSequence }
    }

    @Test("A restore and a verification read many names at once")
    func restored() throws {
        let a = try leader()
        try write(200, a)
        let (bucket, folder) = (MemoryBucket(objects), TemporaryFolder())
        let restored = try Restorer(.end, asOf: noon).restore(to: folder.path, from: bucket)
        #expect(restored.sequence == a.store.lastSequence)
        #expect(bucket.widths.max() == ReplicationLimits.readAheadCountMax)
        let verifier = MemoryBucket(objects)
        #expect(try BucketVerifier().run(on: verifier).segmentCount >= 200)
        #expect(verifier.widths.max() == ReplicationLimits.readAheadCountMax)
    }

    // It asked for the most as soon as it had found as many in a row, whatever there was then. And it read for half a second
    // before it applied anything.
    @Test(
        "A follower that is close behind a quick leader asks for few names that are not there, and stays close"
    )
    func closeBehind() throws {
        let a = try leader()
        let b = try follower("b")
        try write(60, a)
        var (roundCount, distance) = (0, UInt64(0))
        b.bucket.onRequest = { [unowned b] (operation, name) throws(ReplicationError) in
            guard operation == .get, name.hasPrefix(ShardNames.logPrefix),
                b.bucket.widths.count != roundCount
            else { return }
            roundCount = b.bucket.widths.count
            b.uptime += 20
            if b.store.lastSequence > 100 {
                distance = max(distance, a.store.lastSequence - b.store.lastSequence)
            }
            do { try write(3, a) } catch { Issue.record(error) }
        }
        try b.run { b.store.lastSequence > 100 }
        func figures() throws -> (gets: Int, segments: Int) {
            let position = try #require(b.store.replicationState).position
            return (b.bucket.counts[.get] ?? 0, Int(position.number))
        }
        let (gets, segments) = try figures()
        try b.run { try figures().segments > segments + 300 }
        let now = try figures()
        #expect(now.gets - gets < 2 * (now.segments - segments), "\(now) \(gets) \(segments)")
        #expect(distance < 30, "\(distance)")
    }

    // Many of up to 256 MiB each were held in memory.
    @Test("What is read ahead is bounded when a backlog of long segments begins")
    func longSegments() throws {
        let a = try leader()
        try write(160, a)
        for number in 0..<6 {
            for part in 0..<80 {
                let bytes = [UInt8](repeating: UInt8(number), count: 60_000 + part)
                try a.store.put("\(number)-\(part)", bytes)
            }
            try a.run { a.store.shippedSequence == a.store.lastSequence }
        }
        let longest = objects.all.values.map(\.count).max() ?? 0
        #expect(longest > 4 << 20)
        let limit = ReplicationLimits.readAheadByteCount + longest
        // Wherever the long ones begin among those that are read together.
        for number in stride(from: UInt64(5), to: 40, by: 8) {
            let bucket = MemoryBucket(objects)
            let first = try #require(try Segment.read(number, on: bucket))
            var log = LogFollower(storeID: a.store.id, after: first.position)
            while try log.next(on: bucket, looksForBase: false) != nil {}
            #expect(log.position == a.store.replicationState?.position)
            #expect(bucket.roundByteCountMax <= limit, "\(bucket.roundByteCountMax)")
            #expect(bucket.widths.max() == ReplicationLimits.readAheadCountMax)
        }
        let verifier = MemoryBucket(objects)
        #expect(try BucketVerifier().run(on: verifier).problems == [])
        #expect(verifier.roundByteCountMax <= limit)
    }

    // The leader was quicker than the way to the bucket and back: each name was taken when the fence came. It went on,
    // and took the lead back.
    @Test(
        "The lead is taken by force from a leader that writes without a pause, and nothing is lost")
    func busyLeader() throws {
        let a = try leader()
        let b = try follower("b")
        try b.run { b.store.lastSequence == a.store.lastSequence }
        let promotion = TestPromotion(isForced: true)
        b.promotion = promotion
        var acknowledged: [String] = []
        var handedOverAt: Int64?
        let first = b.bucket.requestCount
        b.bucket.onRequest = { [unowned b] (_, _) throws(ReplicationError) in
            if b.bucket.isAlongside { return }
            b.uptime += 25
            if b.bucket.requestCount > first + 2_000 { throw .stopped }
            do {
                // As a follower it would wait: only b has the time of this.
                if a.activity == .follows, handedOverAt == nil { handedOverAt = b.uptime }
                for _ in 0..<2 where a.activity != .follows {
                    a.uptime += 12
                    if a.isLeading {
                        acknowledged.append("n\(a.store.lastSequence)")
                        try a.store.put(acknowledged.last!, [1])
                    }
                    try a.step()
                }
            } catch { Issue.record(error) }
        }
        let begun = b.uptime
        try b.run { promotion.answer != nil }
        #expect(promotion.answer == .leads(b.store.replicationState!.epoch))
        #expect(b.uptime - begun < 10_000)
        // What the leader wrote until then is passed at once.
        let handedOver = try #require(handedOverAt)
        #expect(b.uptime - handedOver < 2_000)
        #expect(acknowledged.count > 50)
        #expect(try acknowledged.filter { try b.store.get($0) != [1] } == [])
        #expect(a.failedWaiters.isEmpty)
        #expect(!objects.names.contains { $0.hasPrefix(ShardNames.handoverPrefix) })
        b.bucket.onRequest = { _, _ in }
        try ReplicaUnderTest.run([a, b]) { a.activity == .follows && b.isLeading }
    }

    /// A follower that is far behind, whose requests take long.
    private func lateFollower(of a: ReplicaUnderTest) throws -> (ReplicaUnderTest, TestPromotion) {
        let b = try follower("b")
        try write(400, a)
        let promotion = TestPromotion(isForced: true)
        b.promotion = promotion
        b.bucket.onRequest = { [unowned b] _, _ in b.uptime += 100 }
        return (b, promotion)
    }

    @Test(
        "One that is far behind puts its fence first, and leads when it has applied what is before it"
    )
    func fenceFirst() throws {
        let a = try leader()
        let (b, promotion) = try lateFollower(of: a)
        try b.step()
        #expect(b.isChanging)
        #expect(b.store.lastSequence < a.store.lastSequence)
        let fence = try #require(
            try Segment.read(
                a.store.replicationState!.position.number + 1, on: a.bucket)?.head)
        #expect(fence.kind == .fence)
        #expect(fence.sequence == a.store.lastSequence)
        // The leader is none from here on.
        try a.store.put("late", [1])
        try b.beat()
        for _ in 0..<3 { try a.step() }
        #expect(a.activity == .changes && a.store.refusesChanges)
        let last = fence.sequence
        try b.run { promotion.answer != nil }
        #expect(promotion.answer == .leads(fence.epoch))
        #expect(b.isLeading && b.store.lastSequence == last + 1)
        #expect(try b.store.get("late") == nil)
        try write(3, b)
        try ReplicaUnderTest.run([a, b]) { a.store.lastSequence == b.store.lastSequence }
    }

    @Test("One that died between its fence and the lead takes it when it is started again")
    func interrupted() throws {
        let a = try leader()
        let (b, _) = try lateFollower(of: a)
        try b.step()
        #expect(b.isChanging)
        let last = a.store.lastSequence
        a.kill()
        b.kill()
        try b.start()
        try b.run(5_000) { b.isLeading }
        #expect(b.store.lastSequence > last)
        #expect(try b.store.get("n300") == [1])
    }

    // It took over without force, and found its own fence: somebody else had been quicker, it said.
    @Test("One whose bucket goes away after its fence is put leads when it is back")
    func awayAfterFence() throws {
        let a = try leader()
        let (b, promotion) = try lateFollower(of: a)
        let fence = ShardNames.log(a.store.replicationState!.position.number + 1)
        b.bucket.onRequest = { [unowned b, objects] (operation, _) throws(ReplicationError) in
            b.uptime += 100
            if operation == .list, objects[fence] != nil { throw .bucket("away") }
        }
        #expect(throws: ReplicationError.bucket("away")) { try b.step() }
        #expect(objects[fence] != nil && promotion.answer == nil)
        let last = a.store.lastSequence
        a.kill()
        b.bucket.onRequest = { [unowned b] _, _ in b.uptime += 100 }
        try b.run { promotion.answer != nil }
        #expect(promotion.answer == .leads(b.store.replicationState!.epoch))
        #expect(b.isLeading && b.store.lastSequence > last)
    }

    // The first page that was shorter than the one before counted as the last: the fence was put name by name from there.
    @Test("The end of the log is found where pages of a listing are short")
    func shortPages() throws {
        let a = try leader()
        try write(100, a)
        let bucket = MemoryBucket(objects)
        bucket.hasShortPages = true
        let end = try #require(try LogEnd.find(after: .start, on: bucket))
        #expect(end.position == a.store.replicationState?.position)
        // A listing ends with its last page, and not with an empty one.
        for epoch: UInt64 in 1...2 { objects[ShardNames.alive(epoch)] = [1] }
        let count = bucket.counts[.list] ?? 0
        #expect(try bucket.names(ShardNames.alivePrefix).count == 2)
        #expect(bucket.counts[.list] == count + 1)
    }

    @Test("No fence is put behind a segment that is missing")
    func hole() throws {
        let a = try leader()
        let (b, promotion) = try lateFollower(of: a)
        let missing = ShardNames.log(a.store.replicationState!.position.number - 20)
        objects[missing] = nil
        let names = objects.names.filter { $0.hasPrefix(ShardNames.logPrefix) }
        #expect(
            throws: ReplicationError.damaged(
                name: missing, why: "is missing, but later segments exist")
        ) { try b.step() }
        guard case .refused = promotion.answer else { throw TestFailure("not refused") }
        #expect(objects.names.filter { $0.hasPrefix(ShardNames.logPrefix) } == names)
    }
}
