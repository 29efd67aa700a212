import BlobStore
import TestSupport
import Testing

@testable import Replication

/// A host whose disk has no room for two stores.
@Suite(.enabled(if: SmallDisk.isPossible, "no tmpfs can be mounted"))
struct SeedRoomTests {
    private let objects = MemoryObjects()

    /// A deposed leader whose store takes most of its disk, and the one that leads.
    private func hosts(
        on disk: SmallDisk
    ) throws -> (deposed: ReplicaUnderTest, leader: ReplicaUnderTest) {
        let a = ReplicaUnderTest("a", objects, folder: disk.folder)
        try a.start()
        for number in 0..<20 {
            try a.store.put("\(number)", SeededGenerator.bytes(1 << 20, seed: UInt64(number)))
            try a.store.put("s\(number)", SeededGenerator.bytes(60_000, seed: UInt64(number)))
        }
        try a.lead()
        try a.writeBase()
        let b = ReplicaUnderTest("b", objects, mayBegin: false)
        try b.start()
        try b.run { b.store.lastSequence == a.store.lastSequence }
        try a.store.put("lost", [9])
        b.promotion = TestPromotion(isForced: true)
        try b.lead()
        for _ in 0..<50 where a.restartReason == nil { try a.step() }
        #expect(a.restartReason != nil)
        #expect(a.folder.names.contains { $0.hasPrefix("unreplicated-epoch-") })
        a.kill()
        return (a, b)
    }

    // It was started again and again: 40 starts and 7,700 GETs in 40 seconds, and it did not say what to do.
    @Test("A deposed leader whose disk has room for 1.2 stores is rebuilt")
    func rebuilt() throws {
        let disk = try SmallDisk(byteCount: 34 << 20)
        let (a, b) = try hosts(on: disk)
        #expect(BlobStore.allocatedByteCount(of: disk.path) > 20 << 20)
        try a.start()
        #expect(a.lines.contains { $0.contains("removing the old one") })
        try a.run { a.store.lastSequence == b.store.lastSequence }
        #expect(a.activity == .follows)
        #expect(try a.store.get("7") == SeededGenerator.bytes(1 << 20, seed: 7))
        #expect(try a.store.verify().problems == [])
        #expect(a.folder.names.contains { $0.hasPrefix("unreplicated-epoch-") })
    }

    @Test("The old store stays while the bucket lacks what it may have, and is named")
    func onlyCopy() throws {
        let disk = try SmallDisk(byteCount: 34 << 20)
        let (a, b) = try hosts(on: disk)
        let name = try #require(objects.names.first { $0.hasPrefix(ShardNames.blobPrefix) })
        let bytes = objects[name]
        objects[name]?.removeLast()
        let before = BlobStore.allocatedByteCount(of: disk.path)
        a.onWait = {
            #expect(BlobStore.allocatedByteCount(of: disk.path) == before)
            objects[name] = bytes
        }
        let begun = a.uptime
        try a.start()
        #expect(a.uptime > begun)
        #expect(a.lines.contains { $0.contains("the bucket lacks 1 payloads") })
        try a.run { a.store.lastSequence == b.store.lastSequence }
    }

    @Test("A host whose disk is too small says once how much it lacks, and waits longer and longer")
    func tooSmall() throws {
        let disk = try SmallDisk(byteCount: 40 << 20)
        let (a, b) = try hosts(on: disk)
        // Too little beside the old store, and without it.
        var waits: [Int64] = []
        var last = a.uptime
        try disk.fill(leaving: 1 << 20)
        for number in 0..<4 {
            try b.store.put("m\(number)", SeededGenerator.bytes(2 << 20, seed: UInt64(90 + number)))
        }
        try b.lead()
        try b.writeBase()
        let gets = a.bucket.counts[.get] ?? 0
        var getsWhileWaiting = 0
        a.onWait = {
            waits.append(a.uptime - last)
            last = a.uptime
            getsWhileWaiting = (a.bucket.counts[.get] ?? 0) - gets
            if waits.count == 9 { disk.empty() }
        }
        try a.start()
        #expect(waits.count == 9, "\(waits)")
        #expect(waits.last ?? 0 >= 300_000)
        let said = a.lines.filter { $0.contains("This daemon waits for the space") }
        #expect(said.count == 1)
        #expect(said.first?.contains("bytes, move the folder to a larger disk") == true)
        // Nothing is asked of the bucket meanwhile.
        #expect(getsWhileWaiting < 200)
        try a.run { a.store.lastSequence == b.store.lastSequence }
    }

    @Test("What a store takes is estimated as a little more than it does")
    func estimate() throws {
        var generator = SeededGenerator(seed: 3)
        for shape in [[10, 300], [2_000, 2_500, 5_000], [60_000], [70_000, 400_000]] {
            let objects = MemoryObjects()
            let member = try Member("one", objects)
            try member.begin()
            for number in 0..<120 {
                let length = shape[generator.below(shape.count)] + generator.below(100)
                try member.store.put("\(number)", generator.bytes(length))
            }
            try member.ship()
            try member.writeBase()
            let number = try #require(BaseManifest.numbers(on: member.bucket).last)
            let manifest = try BaseManifest.read(number, on: member.bucket)
            let (size, blobs) = try Seeder.size(of: manifest, leavesBlobs: false, on: member.bucket)
            let follower = try Member("two", seededFrom: objects)
            let taken = BlobStore.allocatedByteCount(of: follower.folder.path)
            print("\(shape): estimated \(size), \(blobs.count) long; takes \(taken)")
            #expect(taken <= size + size / 16 + ReplicationLimits.seedRoomByteCount)
            #expect(size < taken + taken / 4 + 200_000)
        }
    }
}
