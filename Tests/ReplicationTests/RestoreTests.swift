import BlobStore
import Foundation
import Replication
import Synchronization
import TestSupport
import Testing

/// The bucket gives back what the store was behind each batch of the retention.
@Suite struct RestoreTests {
    private static func count(_ name: String, _ usual: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? usual
    }

    @Test("A store is restored to random batches of the retention, behind packing and collecting")
    func batches() throws {
        // 1,000 restores of 10,000 batches are the long turn.
        let batchCount = Self.count("BLOBD_RESTORE_BATCHES", 200)
        let restoreCount = Self.count("BLOBD_RESTORES", 12)
        let seed = testSeed(4)
        print("restores: seed \(seed)")
        let span = Int64(batchCount) * 10_000
        let history = try TestHistory(
            seed: seed,
            schedule: BaseSchedule(
                intervalMilliseconds: span / 12, retentionMilliseconds: span / 3))
        try history.run(batchCount, stepSeconds: 20)
        // Grace periods end, and the next collection finds what they kept.
        history.clock.advance(milliseconds: ReplicationLimits.packGraceMilliseconds)
        try history.leader.maintain()
        let (objects, bucket) = (history.objects, MemoryBucket(history.objects))
        let bases = try BaseManifest.numbers(on: bucket)
        let oldest = try BaseManifest.read(try #require(bases.first), on: bucket)
        print(
            "restores: \(bases.count) bases from batch \(oldest.sequence) on, \(objects.count("pack/")) packs, \(objects.count("log/")) segments, \(objects.count("blob/")) blobs"
        )
        #expect(oldest.sequence > 10 && bases.count > 2)
        #expect(!objects.names.contains(ShardNames.log(1)))

        for _ in 0..<restoreCount {
            guard let sequence = history.anySequence(from: oldest.sequence) else { break }
            let folder = TemporaryFolder()
            let restored = try Restorer(.sequence(sequence), asOf: noon).restore(
                to: folder.path, from: bucket)
            #expect(restored.sequence == sequence, "seed \(seed)")
            let store = try BlobStore.openReadOnly(at: folder.path)
            #expect(
                try store.tablesDigest() == history.digests[sequence],
                "seed \(seed), batch \(sequence)")
            #expect(store.id.description == restored.storeID)
            #expect(store.id != history.leader.store.id)
            #expect(store.replicationState == nil)
            #expect(!folder.names.contains(Restorer.workName))
        }
        // By time: the last batch of that millisecond.
        for index in stride(from: 0, to: history.times.count, by: 37) {
            let time = history.times[index].time
            guard time >= oldest.time else { continue }
            let expected = history.times.last { $0.time <= time }
            let folder = TemporaryFolder()
            let restored = try Restorer(.time(time), asOf: noon).restore(
                to: folder.path, from: bucket)
            #expect(restored.sequence == expected?.sequence, "seed \(seed)")
        }
        #expect(throws: ReplicationError.self) {
            try Restorer(.sequence(oldest.sequence - 1), asOf: noon).restore(
                to: TemporaryFolder().path, from: bucket)
        }
    }

    @Test("Only what is needed is kept, and all of that")
    func collected() throws {
        let history = try TestHistory(
            seed: 7,
            schedule: BaseSchedule(
                intervalMilliseconds: 600_000, retentionMilliseconds: 1_200_000))
        try history.run(200, stepSeconds: 40)
        history.clock.advance(milliseconds: ReplicationLimits.collectMilliseconds)
        try history.leader.maintain()
        history.clock.advance(milliseconds: ReplicationLimits.collectMilliseconds)
        try history.leader.maintain()
        let bucket = MemoryBucket(history.objects)
        let bases = try BaseManifest.numbers(on: bucket)
        let oldest = try BaseManifest.read(try #require(bases.first), on: bucket)
        let names = history.objects.names
        let end = history.clock.now.milliseconds - 1_200_000
        #expect(oldest.time.milliseconds <= end)
        // One that is made late counts for no more than the interval.
        #expect(bases.count <= 4)
        let packs = names.compactMap(ShardNames.packRange)
        #expect(packs.dropLast().allSatisfy { $0.upperBound > oldest.position.number })
        let kept = try history.leader.store.longBlobNumbers(retiredAfter: oldest.sequence)
        let blobs = names.compactMap { ShardNames.blobParts($0)?.number }
        #expect(
            Set(blobs.filter { $0 < oldest.nextBlobNumber })
                == Set(kept.filter { $0 < oldest.nextBlobNumber }))
        #expect(
            try history.leader.store.longBlobNumbers(retiredAfter: 0)
                == history.leader.store.longBlobNumbers(retiredAfter: oldest.sequence))
        // Followers have forgotten the same.
        let follower = try Member("follower", seededFrom: history.objects, base: bases.count - 1)
        try follower.follow()
        #expect(try follower.contents() == history.leader.contents())
        #expect(try follower.store.verify().problems == [])
    }

    @Test("What is missing is named, with the oldest moment there is")
    func missing() throws {
        let history = try TestHistory(seed: 3, schedule: BaseSchedule())
        try history.run(30, stepSeconds: 5)
        let bucket = MemoryBucket(history.objects)
        func error(_ target: Restorer.Target, _ objects: MemoryObjects) -> String {
            let folder = TemporaryFolder()
            do {
                _ = try Restorer(target, asOf: noon).restore(
                    to: folder.path, from: MemoryBucket(objects))
                return "restored"
            } catch {
                #expect(folder.names.filter { $0 != "blobd.lock" } == [])
                return "\(error)"
            }
        }
        #expect(
            error(.time(noon.adding(seconds: -1)), history.objects).contains(
                "no base is at or before that: the oldest is of 2027-01-15T08:00:00.000Z"))
        let last = history.leader.store.lastSequence
        #expect(
            error(.sequence(last + 1), history.objects).contains(
                "the log ends with the batch \(last)"))
        #expect(error(.end, MemoryObjects()).contains("no shard"))
        let segments = history.objects.names.filter { $0.hasPrefix("log/") }
        let middle = segments[segments.count - 3]
        history.objects[middle] = nil
        #expect(error(.end, history.objects).contains("the object \(middle) is missing"))
        _ = bucket
    }

    @Test("A flipped bit or a cut in any kind of object is refused by name")
    func damage() throws {
        let seed = testSeed(5)
        print("damage: seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let history = try TestHistory(
            seed: seed,
            schedule: BaseSchedule(intervalMilliseconds: 86_400_000))
        try history.run(40, stepSeconds: 20)
        history.clock.advance(milliseconds: ReplicationLimits.packGraceMilliseconds)
        try history.leader.maintain()
        try history.run(20, stepSeconds: 1)
        let whole = history.objects.all
        let prefixes = [
            "store.json", "epoch/", "log/", "pack/", "base/", "blob/",
        ]
        // Names of the log beside their pack are not read, nor are packs that the base has all of.
        let packed = whole.keys.compactMap(ShardNames.packRange).map(\.upperBound).max() ?? 0
        let based = (0...packed).last { whole[ShardNames.manifest($0)] != nil } ?? 0
        for prefix in prefixes {
            let names = whole.keys.filter {
                $0.hasPrefix(prefix)
                    && ShardNames.number($0, behind: "log/").map { $0 > packed } != false
                    && ShardNames.packRange($0).map { $0.upperBound > based } != false
            }.sorted()
            #expect(!names.isEmpty, "\(prefix)")
            for name in names.shuffled(using: &generator).prefix(3) {
                for cut in [false, true] {
                    var bytes = whole[name] ?? []
                    if cut {
                        bytes.removeLast(1 + generator.below(bytes.count))
                    } else {
                        bytes[generator.below(bytes.count)] ^= 1 << UInt8(generator.below(8))
                    }
                    let objects = MemoryObjects(whole)
                    objects[name] = bytes
                    let refusal = Self.refusal(objects)
                    // A blob that nothing before the end refers to is not read.
                    if prefix == "blob/", refusal == nil { continue }
                    #expect(
                        refusal?.contains(name) == true,
                        "\(name), cut \(cut), seed \(seed): \(refusal ?? "restored")")
                }
            }
        }
    }

    /// What a restore of everything says, or a look at who leads.
    private static func refusal(_ objects: MemoryObjects) -> String? {
        let bucket = MemoryBucket(objects)
        do {
            _ = try Epochs.newest(on: bucket)
            let folder = TemporaryFolder()
            _ = try Restorer(.end, asOf: noon).verify(in: folder.path("work"), from: bucket)
            #expect(folder.names == [])
            return nil
        } catch {
            return "\(error)"
        }
    }
}

extension MemoryObjects {
    /// Names that begin with a text.
    func count(_ prefix: String) -> Int { names.count { $0.hasPrefix(prefix) } }
}
