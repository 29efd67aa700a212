import BlobStore
import Bytes
import Hashing
import TestSupport
import Testing

@testable import Replication

/// Names of the log that are missing, and segments that do not follow one another.
@Suite struct GapTests {
    private func shard() throws -> (Member, Member) {
        let objects = MemoryObjects()
        let leader = try Member("one", objects)
        try leader.begin()
        try leader.ship()
        try leader.writeBase()
        let follower = try Member("two", seededFrom: objects)
        for number in 0..<6 {
            try leader.store.put("n\(number)", [UInt8(number)])
            try leader.ship()
        }
        return (leader, follower)
    }

    /// The follower waited at the missing name without a word, and a forced promotion lost what was behind it.
    @Test("A follower names a gap, and nobody takes the lead over one")
    func named() throws {
        let (leader, follower) = try shard()
        let last = try #require(leader.shipper).position.number
        let missing = ShardNames.log(last - 2)
        let bytes = leader.bucket.shared[missing]
        leader.bucket.shared[missing] = nil
        func description(_ body: () throws -> Void) -> String {
            do {
                try body()
                return "nothing"
            } catch {
                return "\(error)"
            }
        }
        let expected = "the object \(missing) is missing, but later segments exist"
        #expect(description { try follower.follow() } == expected)
        #expect(description { _ = try follower.takeOver() } == expected)
        // Without the look it costs nothing, and says nothing, once it does not read ahead.
        _ = try follower.log.next(on: follower.bucket, looksForBase: false)
        let count = follower.bucket.requestCount
        let next = try follower.log.next(on: follower.bucket, looksForBase: false)
        #expect(next == nil)
        #expect(follower.bucket.requestCount == count + 1)
        leader.bucket.shared[missing] = bytes
        try follower.follow()
        #expect(try follower.contents() == leader.contents())
    }

    @Test("At a gap or behind it a base is begun with", arguments: [0, 2] as [UInt64])
    func healed(distance: UInt64) throws {
        let (leader, follower) = try shard()
        let missing = try #require(leader.shipper).position.number - distance
        try leader.writeBase()
        try leader.store.put("later", [1])
        try leader.ship()
        leader.bucket.shared[ShardNames.log(missing)] = nil
        #expect(throws: ReplicationError.tooOld(position: missing - 1)) {
            try follower.follow()
        }
    }

    /// Two wrong answers were taken for a gap: the leader that had written the segment was deposed by itself.
    @Test("A name that is listed and not given is no gap")
    func listed() throws {
        let (leader, follower) = try shard()
        let last = try #require(leader.shipper).position.number
        let (objects, name) = (leader.bucket.shared, ShardNames.log(last - 2))
        let bytes = try #require(objects[name])
        try leader.writeBase()
        follower.bucket.onRequest = { (operation, asked) throws(ReplicationError) in
            objects[name] = operation == .get && asked == name ? nil : bytes
        }
        let error = ReplicationError.damaged(name: name, why: "is listed but cannot be read")
        #expect(throws: error) { try follower.follow() }
        follower.bucket.onRequest = { _, _ in }
        objects[name] = bytes
        try follower.follow()
        #expect(try follower.contents() == leader.contents())
    }

    @Test("Segments that continue another log are refused by followers and restores")
    func otherLog() throws {
        let (leader, follower) = try shard()
        let last = try #require(leader.shipper).position.number
        let hash = SHA256.digest(of: [UInt8]("other".utf8).span.bytes)
        var previous = LogPosition(number: last - 4, hash: Digest(hash))
        for number in last - 3...last {
            let segment = try #require(try Segment.read(number, on: leader.bucket))
            var head = segment.head
            head.previous = previous
            let other = Segment(head, segment.items)
            previous = other.position
            leader.bucket.shared[ShardNames.log(number)] = other.bytes
        }
        #expect(throws: ReplicationError.forked(number: last - 3)) { try follower.follow() }
        #expect(throws: ReplicationError.forked(number: last - 3)) {
            try Restorer(.end, asOf: noon).restore(to: TemporaryFolder().path, from: leader.bucket)
        }
    }
}
