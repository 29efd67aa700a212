import BlobStore
import TestSupport
import Testing

@testable import Replication

/// What a follower does that cannot get past a place of the log, by itself or with what it says.
@Suite struct ObstacleTests {
    private let objects = MemoryObjects()

    /// A leader, and a follower that has all of it.
    private func hosts() throws -> (ReplicaUnderTest, ReplicaUnderTest) {
        let a = try ReplicaUnderTest.leader(objects)
        let b = ReplicaUnderTest("b", objects, mayBegin: false)
        try b.start()
        try b.run { b.store.lastSequence == a.store.lastSequence }
        return (a, b)
    }

    private func change(_ id: String, _ a: ReplicaUnderTest) throws {
        try a.store.put(id, [1])
        try a.lead()
    }

    /// Steps that fail, for a while.
    private func fail(_ host: ReplicaUnderTest, seconds: Int64) {
        let end = host.uptime + seconds * 1_000
        while host.uptime < end, host.restartReason == nil {
            try? host.step()
            host.uptime += 4_000
        }
    }

    // It paused for good, and gave no advice.
    @Test("A follower whose store is damaged says what to do, and is rebuilt from the next base")
    func ownDamage() throws {
        let (a, b) = try hosts()
        var asked = ""
        b.bucket.onRequest = { (_, name) in asked = name }
        b.onWrite = { () throws(StoreError) in
            if asked.hasPrefix(ShardNames.logPrefix) { throw .corrupt("page 7") }
        }
        try change("later", a)
        fail(b, seconds: 60)
        #expect(b.restartReason == nil)
        let advice = b.lines.filter { $0.contains("page 7") }
        #expect(advice.count == 1)
        #expect(advice.first?.contains("empty \(b.store.directory) and start it") == true)
        try a.writeBase()
        fail(b, seconds: 60)
        #expect(b.restartReason != nil)
        b.onWrite = {}
        try b.stepOrRestart()
        try b.run { b.store.lastSequence == a.store.lastSequence }
        #expect(try b.store.get("later") == [1])
    }

    @Test("A follower that is never given a segment is rebuilt from the base after it, not at once")
    func notGiven() throws {
        let (a, b) = try hosts()
        try change("lost", a)
        let name = ShardNames.log(try #require(a.store.replicationState).position.number)
        let fail500 = {
            (operation: MemoryBucket.Operation, asked: String) throws(ReplicationError) in
            if operation == .get, asked == name { throw .bucket("500") }
        }
        b.bucket.onRequest = fail500
        try change("later", a)
        try a.writeBase()
        fail(b, seconds: 60)
        #expect(b.restartReason == nil)
        // A bucket that is away, and comes back.
        b.bucket.onRequest = { (_, _) throws(ReplicationError) in throw .bucket("away") }
        fail(b, seconds: 600)
        #expect(b.restartReason == nil)
        b.bucket.onRequest = { _, _ in }
        try b.run { b.store.lastSequence == a.store.lastSequence }
        #expect(!b.lines.contains { $0.contains("continuing from the base") })
        // Another one that stays so.
        try change("more", a)
        let next = ShardNames.log(try #require(a.store.replicationState).position.number)
        try change("end", a)
        try a.writeBase()
        b.bucket.onRequest = { (operation, asked) throws(ReplicationError) in
            if operation == .get, asked == next { throw .bucket("500") }
        }
        fail(b, seconds: 200)
        #expect(b.restartReason != nil)
        b.bucket.onRequest = { _, _ in }
        try b.stepOrRestart()
        try b.run { b.store.lastSequence == a.store.lastSequence }
    }

    @Test("A follower that is never given a payload serves what it has, and is not rebuilt")
    func payloadNotGiven() throws {
        let (a, b) = try hosts()
        try a.store.put("long", SeededGenerator.bytes(100_000))
        try a.lead()
        try a.writeBase()
        b.bucket.onRequest = { (operation, name) throws(ReplicationError) in
            if operation == .get, name.hasPrefix(ShardNames.blobPrefix) {
                throw .bucket("get \(name): 500")
            }
        }
        fail(b, seconds: 400)
        #expect(b.restartReason == nil && b.activity == .follows)
        #expect(throws: ReplicationError.self) { try b.step() }
        b.bucket.onRequest = { _, _ in }
        try b.run { b.store.lastSequence == a.store.lastSequence }
    }

    // It said nothing to who had promoted it, nor that nobody leads.
    @Test(
        "A promoted host that cannot apply what lies before its fence says so, and follows another one"
    )
    func stuckBehindFence() throws {
        let (a, b) = try hosts()
        let c = ReplicaUnderTest("c", objects, mayBegin: false)
        try c.start()
        for number in 0..<300 { try change("n\(number)", a) }
        let promotion = TestPromotion(isForced: true)
        b.promotion = promotion
        b.bucket.onRequest = { [unowned b] _, _ in b.uptime += 100 }
        try b.step()
        #expect(b.isChanging)
        a.kill()
        b.onWrite = { () throws(StoreError) in throw .full }
        fail(b, seconds: 30)
        guard case .refused(let why) = promotion.answer else { throw TestFailure("no answer") }
        #expect(why.contains("cannot apply segment"))
        #expect(why.contains("--force there"))
        #expect(b.isChanging)
        let other = TestPromotion(isForced: true)
        c.promotion = other
        try c.run { c.isLeading }
        fail(b, seconds: 20)
        #expect(b.activity == .follows)
        b.onWrite = {}
        b.bucket.onRequest = { _, _ in }
        try ReplicaUnderTest.run([b, c]) { b.store.lastSequence == c.store.lastSequence }
        #expect(c.isLeading && b.activity == .follows)
    }
}
