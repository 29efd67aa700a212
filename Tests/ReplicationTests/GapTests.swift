import BlobStore
import Bytes
import Hashing
import TestSupport
import Testing

@testable import Replication

/// Names of the log that are missing, and packs whose segments do not follow one another.
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
        _ = try follower.log.next(on: follower.bucket, looksAtPacks: false)
        let count = follower.bucket.requestCount
        let next = try follower.log.next(on: follower.bucket, looksAtPacks: false)
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

    /// Two wrong answers were taken for a gap: the leader that had written the segment was deposed by itself. Likewise
    /// with a pack.
    @Test("A name that is listed and not given is no gap", arguments: [false, true])
    func listed(isPack: Bool) throws {
        let (leader, follower) = try shard()
        let last = try #require(leader.shipper).position.number
        let (objects, range) = (leader.bucket.shared, last - 5...last - 3)
        var name = ShardNames.log(last - 2)
        var bytes = try #require(objects[name])
        if isPack {
            // Lists have it, and a later one.
            objects[ShardNames.pack(last - 2...last - 2)] = bytes
            (name, bytes) = (ShardNames.pack(range), [])
            for number in range {
                bytes += try #require(objects[ShardNames.log(number)])
                objects[ShardNames.log(number)] = nil
            }
            objects[name] = bytes
        } else {
            try leader.writeBase()
        }
        follower.bucket.onRequest = { [name, bytes] (operation, asked) throws(ReplicationError) in
            objects[name] = operation == .get && asked == name ? nil : bytes
        }
        let error = ReplicationError.damaged(name: name, why: "is listed but cannot be read")
        #expect(throws: error) { try follower.follow() }
        follower.bucket.onRequest = { _, _ in }
        objects[name] = bytes
        try follower.follow()
        #expect(try follower.contents() == leader.contents())
    }

    /// Neither look at the chain was tried by any test: either could be left out.
    @Test("A pack whose segments do not follow one another is refused")
    func chain() throws {
        let (leader, _) = try shard()
        let last = try #require(leader.shipper).position.number
        let all = try (last - 3...last).map {
            try #require(try Segment.read($0, on: leader.bucket))
        }
        func read(_ segments: [Segment], _ range: ClosedRange<UInt64>) throws(DamagedObject) {
            _ = try Pack.segments(segments.flatMap(\.bytes), range)
        }
        try read(all, last - 3...last)
        // Of the right number, and behind another segment than the one before it.
        var head = all[2].head
        head.previous = LogPosition(number: last - 2, hash: all[0].position.hash)
        let forked = Segment(head, all[2].items)
        for segments in [
            [all[0], all[1], forked, all[3]], [all[0], all[1], all[3]],
            [all[0], all[2], all[1], all[3]], [all[0], all[1], all[1], all[2], all[3]],
            Array(all.dropLast()), Array(all.dropFirst()), [],
        ] {
            #expect(throws: DamagedObject.self) { try read(segments, last - 3...last) }
        }
        #expect(throws: DamagedObject.self) { try read(all, last - 2...last) }
    }

    @Test("A pack that continues another log is refused by followers and restores")
    func otherLog() throws {
        let (leader, follower) = try shard()
        let last = try #require(leader.shipper).position.number
        var bytes: [UInt8] = []
        let hash = SHA256.digest(of: [UInt8]("other".utf8).span.bytes)
        var previous = LogPosition(number: last - 4, hash: Digest(hash))
        for number in last - 3...last {
            let segment = try #require(try Segment.read(number, on: leader.bucket))
            var head = segment.head
            head.previous = previous
            let other = Segment(head, segment.items)
            previous = other.position
            bytes += other.bytes
            leader.bucket.shared[ShardNames.log(number)] = nil
        }
        try leader.bucket.put(ShardNames.pack(last - 3...last), bytes)
        #expect(throws: ReplicationError.forked(number: last - 3)) { try follower.follow() }
        #expect(throws: ReplicationError.forked(number: last - 3)) {
            try Restorer(.end, asOf: noon).restore(to: TemporaryFolder().path, from: leader.bucket)
        }
    }
}
