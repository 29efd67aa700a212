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

    @Test("A store is restored to random batches of the retention, behind collecting")
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
        history.clock.advance(milliseconds: ReplicationLimits.collectGraceMilliseconds)
        try history.leader.maintain()
        let (objects, bucket) = (history.objects, MemoryBucket(history.objects))
        let bases = try BaseManifest.numbers(on: bucket)
        let oldest = try BaseManifest.read(try #require(bases.first), on: bucket)
        print(
            "restores: \(bases.count) bases from batch \(oldest.sequence) on, \(objects.count("log/")) segments, \(objects.count("blob/")) blobs"
        )
        #expect(oldest.sequence > 10 && bases.count > 2)
        #expect(!objects.names.contains(ShardNames.log(2)))

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
        let first = try BaseManifest.numbers(on: bucket).first
        history.clock.advance(milliseconds: ReplicationLimits.collectGraceMilliseconds)
        try history.leader.maintain()
        let bases = try BaseManifest.numbers(on: bucket)
        let oldest = try BaseManifest.read(try #require(bases.first), on: bucket)
        let names = history.objects.names
        let end = history.clock.now.milliseconds - 1_200_000
        #expect(oldest.time.milliseconds <= end)
        // One that is made late counts for no more than the interval.
        #expect(bases.count <= 4)
        // After the fence that it begins with.
        let segments = names.compactMap { ShardNames.number($0, after: ShardNames.logPrefix) }
            .dropFirst()
        #expect(segments.first == first || segments.first == oldest.position.number)
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
                "every base is later: the oldest is of 2027-01-15T08:00:00.000Z"))
        let last = history.leader.store.lastSequence
        #expect(
            error(.sequence(last + 1), history.objects).contains(
                "the log ends with batch \(last)"))
        #expect(error(.end, MemoryObjects()).contains("no shard"))
        let damaged = MemoryObjects(history.objects.all)
        damaged[ShardNames.store]?[20] ^= 1
        #expect(error(.end, damaged).contains(ShardNames.store))
        let segments = history.objects.names.filter { $0.hasPrefix("log/") }
        let middle = segments[segments.count - 3]
        history.objects[middle] = nil
        #expect(error(.end, history.objects).contains("the object \(middle) is missing"))
    }
}

extension MemoryObjects {
    /// Names that begin with a text.
    func count(_ prefix: String) -> Int { names.count { $0.hasPrefix(prefix) } }
}
