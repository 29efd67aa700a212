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

    // With --local-bytes it was removed: what may stay in the bucket was not looked for.
    @Test(
        "The old store stays while the bucket lacks what it may have, and is named",
        arguments: [false, true])
    func onlyCopy(leavesBlobs: Bool) throws {
        let disk = try SmallDisk(byteCount: 34 << 20)
        let (a, b) = try hosts(on: disk)
        if leavesBlobs {
            a.settings.localByteCountMax = 1 << 40
            try disk.fill(leaving: 512 << 10)
        }
        let name = try #require(objects.names.first { $0.hasPrefix(ShardNames.blobPrefix) })
        let bytes = objects[name]
        objects[name]?.removeLast()
        let before = BlobStore.allocatedByteCount(of: disk.path)
        a.host.onWait = {
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
        a.host.onWait = { [unowned a] in
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

    // It was started again and again: there was no room for the empty store in the place of the old one.
    @Test(
        "A host whose disk has no room even to remove the old store says so once, and waits",
        arguments: [0, 4 << 10])
    func noRoomToRemove(freeByteCount: Int) throws {
        let disk = try SmallDisk(byteCount: 34 << 20)
        let (a, b) = try hosts(on: disk)
        // The new store is much smaller.
        for number in 0..<10 { try b.store.delete("\(number)", asOf: noon) }
        try b.lead()
        try b.writeBase()
        try disk.fill(leaving: freeByteCount)
        var waitCount = 0
        a.host.onWait = {
            waitCount += 1
            if waitCount == 9 { disk.empty() }
        }
        try a.start()
        #expect(waitCount == 9)
        #expect(a.lines.count { $0.contains("too few even to remove the old store") } == 1)
        try a.run { a.store.lastSequence == b.store.lastSequence }
        #expect(try a.store.verify().problems == [])
    }

    // It was started again and again: its base is read each time. Then it was read every five minutes.
    @Test("A host whose disk refuses the space that it has says so once, and tries ever less often")
    func refused() throws {
        let disk = try SmallDisk(byteCount: 100 << 20)
        let (a, b) = try hosts(on: disk)
        try disk.limitFiles(toPresent: true)
        var partCount = 0
        a.bucket.onRequest = { (operation, name) in
            guard operation == .get, name.hasPrefix(ShardNames.basePrefix),
                !name.hasSuffix("manifest.json")
            else { return }
            partCount += 1
        }
        var waits: [Int64] = []
        var last = a.uptime
        var partsWhileWaiting = 0
        a.host.onWait = { [unowned a] in
            waits.append(a.uptime - last)
            last = a.uptime
            partsWhileWaiting = partCount
            if waits.count == 12 { try? disk.limitFiles(toPresent: false) }
        }
        try a.start()
        #expect(waits.count == 12 && waits.first ?? 0 < 10_000)
        #expect(waits.last == Int64(ReplicationLimits.refusedRoomLookMillisecondsMax))
        // It was measured once; each attempt begins to read it.
        #expect(partsWhileWaiting <= waits.count + 1)
        let said = a.lines.filter { $0.contains("writing failed") }
        #expect(said.count == 1)
        #expect(said.first?.contains("errors of the disk") == true)
        try a.run { a.store.lastSequence == b.store.lastSequence }
    }

    // It waited for the room of a base that was not the newest any more, or was gone.
    @Test(
        "A host that waits for room is built from a newer base that needs less",
        arguments: [false, true])
    func newerBase(isGone: Bool) throws {
        let disk = try SmallDisk(byteCount: 40 << 20)
        let (a, b) = try hosts(on: disk)
        try disk.fill(leaving: 1 << 20)
        for number in 0..<4 {
            try b.store.put("m\(number)", SeededGenerator.bytes(2 << 20, seed: UInt64(90 + number)))
        }
        try b.lead()
        try b.writeBase()
        let old = objects.names.filter { $0.hasPrefix(ShardNames.basePrefix) }
        var waitCount = 0
        a.host.onWait = {
            waitCount += 1
            do {
                if waitCount == 3 {
                    for number in 0..<15 { try b.store.delete("\(number)", asOf: noon) }
                    try b.lead()
                    try b.writeBase()
                    if isGone { for name in old { objects[name] = nil } }
                }
            } catch { Issue.record(error) }
            // It waits for good.
            if waitCount == 9 { disk.empty() }
        }
        try a.start()
        #expect(waitCount == 3)
        try a.run { a.store.lastSequence == b.store.lastSequence }
        #expect(try a.store.get("17") == SeededGenerator.bytes(1 << 20, seed: 17))
    }

    // It ended, and was started again and again; or it looked like a disk that refuses its space.
    @Test(
        "A store that may be longer than --map-size says so once, and waits for another base",
        arguments: [-1, 4_096])
    func exceedsMap(difference: Int) throws {
        let a = try ReplicaUnderTest.leader(objects)
        for number in 0..<4 { try a.store.put("\(number)", SeededGenerator.bytes(1 << 20)) }
        try a.lead()
        try a.writeBase()
        let b = ReplicaUnderTest("b", objects, mayBegin: false)
        let number = try #require(BaseManifest.numbers(on: b.bucket).last)
        let manifest = try BaseManifest.read(number, on: b.bucket)
        let (size, _) = try Seeder.size(of: manifest, leavesBlobs: false, on: b.bucket)
        var options = Member.options
        options.mapByteCountMax = size + difference
        var waitCount = 0
        let gets = b.bucket.counts[.get] ?? 0
        b.host.onWait = {
            waitCount += 1
            guard waitCount == 8 else { return }
            do {
                try a.store.put("later", [1])
                try a.lead()
                try a.writeBase()
            } catch { Issue.record(error) }
        }
        var room = SeedRoom(b.folder.path, options, b.host, epoch: nil)
        try room.make(for: manifest, newest: number, on: b.bucket)
        #expect(waitCount == 8)
        #expect((b.bucket.counts[.get] ?? 0) - gets <= manifest.parts.count)
        let said = b.lines.filter { $0.contains("more than --map-size (\(size + difference))") }
        #expect(said.count == 1 && b.lines.count == 1)
    }

    // The host waited for good for what nobody can upload.
    @Test("A payload that the base says is lost is no reason to keep the old store")
    func lostPayload() throws {
        let leader = try Member("one", objects)
        try leader.begin()
        let bytes = SeededGenerator.bytes(300_000)
        let blob = try leader.store.put("lost", bytes).parts[0].blob
        try leader.store.put("other", SeededGenerator.bytes(200_000, seed: 2))
        try leader.ship()
        try Files.damage(bytes[120_000..<120_064], in: leader.folder.path("data.mdb"))
        var scrubber = try leader.store.makeScrubber()
        scrubber.begin(asOf: noon)
        while try scrubber.step(byteCountMax: 1 << 20, asOf: noon) != nil {}
        try leader.store.quarantineFound(asOf: noon)
        objects[ShardNames.blob(blob)] = nil
        try leader.writeBase(all: false)
        let number = try #require(BaseManifest.numbers(on: leader.bucket).last)
        let manifest = try BaseManifest.read(number, on: leader.bucket)
        let (_, blobs) = try Seeder.size(of: manifest, leavesBlobs: false, on: leader.bucket)
        #expect(blobs.count == 1)
        #expect(try LongBlobs.absent(blobs, on: leader.bucket).isEmpty)
        let follower = try Member("two", seededFrom: objects)
        #expect(try follower.store.get("other") == SeededGenerator.bytes(200_000, seed: 2))
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
