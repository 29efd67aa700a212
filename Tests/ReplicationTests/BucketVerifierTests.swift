import BlobStore
import Replication
import TestSupport
import Testing

/// Everything that a restore may need is read, and what is damaged is named.
@Suite struct BucketVerifierTests {
    private func history() throws -> TestHistory {
        let history = try TestHistory(
            seed: 31,
            schedule: BaseSchedule(
                intervalMilliseconds: 300_000, retentionMilliseconds: 1_200_000))
        try history.work(minutes: 45)
        // Not packed yet.
        for _ in 0..<6 {
            try history.change(history.leader.store)
            try history.leader.ship()
        }
        return history
    }

    private func verify(_ objects: MemoryObjects) throws -> BucketVerifier.Report {
        try BucketVerifier().run(on: MemoryBucket(objects))
    }

    @Test("A sound bucket is, with all that it keeps")
    func sound() throws {
        let history = try history()
        let report = try verify(history.objects)
        #expect(report.problems == [])
        #expect(report.shardID == history.leader.store.id.description)
        #expect(report.batches?.upperBound == history.leader.store.shippedSequence)
        #expect(try report.baseCount == BaseManifest.numbers(on: history.leader.bucket).count)
        #expect(report.packCount > 2 && report.payloadCount > 2)
        #expect(throws: ReplicationError.noShard) { try verify(MemoryObjects()) }
    }

    @Test("Each object that is damaged or missing is named, all in one run")
    func damage() throws {
        let history = try history()
        let whole = history.objects.all
        let sound = try verify(history.objects)
        let bases = try BaseManifest.numbers(on: history.leader.bucket)
        let oldest = try #require(bases.first)
        let packs = whole.keys.compactMap(ShardNames.packRange).sorted {
            $0.lowerBound < $1.lowerBound
        }
        let last = try #require(packs.last)
        // One whose segments have no names any more.
        let pack = packs.first {
            $0.upperBound > oldest && whole[ShardNames.log($0.upperBound)] == nil
        }
        let unpacked = whole.keys.filter {
            ShardNames.number($0, after: ShardNames.logPrefix).map { $0 > last.upperBound } == true
        }.sorted()
        let blobs = whole.keys.filter { $0.hasPrefix("blob/") }.sorted()
        let names =
            [
                ShardNames.epoch(1), ShardNames.manifest(try #require(bases.dropFirst().first)),
                ShardNames.part(0, ofBase: try #require(bases.last)),
                ShardNames.pack(try #require(pack)),
                try #require(unpacked.dropLast().last),
            ] + blobs.suffix(2)
        for isMissing in [false, true] {
            let objects = MemoryObjects(whole)
            // An epoch or a manifest that is not there is not known to be missing.
            let changed = isMissing ? Array(names.dropFirst(2)) : names
            for name in changed {
                if isMissing { objects[name] = nil } else { objects[name]?[30] ^= 4 }
            }
            let report = try verify(objects)
            // Of a pack that is missing, the first segment is.
            let expected = changed.map {
                guard isMissing, let range = ShardNames.packRange($0) else { return $0 }
                return ShardNames.log(max(oldest + 1, range.lowerBound))
            }
            let found = Set(report.problems.map(\.name))
            // What only a damaged object names is not looked for.
            #expect(found.isSuperset(of: expected.dropLast(2)), "missing \(isMissing)")
            #expect(found.isSubset(of: expected), "missing \(isMissing)")
            #expect(report.batches == sound.batches)
        }
    }

    /// It was not looked for: a base names it apart from the others.
    @Test("A payload is named whose object is gone, also where its bytes were published again")
    func givenWay() throws {
        let objects = MemoryObjects()
        let leader = try Member("one", objects)
        let bytes = SeededGenerator.bytes(300_000, seed: 7)
        try leader.begin()
        try leader.store.put("id", bytes)
        try leader.ship()
        try leader.writeBase()
        let first = Set(objects.names.filter { $0.hasPrefix(ShardNames.basePrefix) })
        let blob = try #require(try leader.store.record(for: "id", asOf: noon)).parts[0].blob
        #expect(try leader.evict() == 1)
        try leader.store.put("again", bytes)
        try leader.ship()
        try leader.writeBase(all: false)
        for name in first { objects[name] = nil }
        #expect(try verify(objects).problems == [])
        #expect(try verify(objects).payloadCount == 2)
        objects[ShardNames.blob(blob)] = nil
        #expect(try verify(objects).problems.map(\.name) == [ShardNames.blob(blob)])
    }

    @Test("A gap is one problem")
    func gap() throws {
        let history = try history()
        let objects = MemoryObjects(history.objects.all)
        let names = objects.names.compactMap {
            ShardNames.number($0, after: ShardNames.logPrefix)
        }
        let last = try #require(names.last)
        for number in last - 3..<last { objects[ShardNames.log(number)] = nil }
        let packed = try #require(objects.names.compactMap(ShardNames.packRange).last).upperBound
        let missing = max(last - 3, packed + 1)
        let report = try verify(objects)
        #expect(report.problems.map(\.name) == [ShardNames.log(missing)])
        #expect(report.problems.first?.why.hasPrefix("is missing") == true)
    }

    /// What the leader deletes meanwhile is not missing.
    @Test("A leader that deletes what is being read does not make a bucket damaged")
    func deletedMeanwhile() throws {
        let history = try history()
        let bucket = MemoryBucket(history.objects)
        bucket.onRequest = { (operation, name) throws(ReplicationError) in
            guard operation == .get, name.hasPrefix("pack/") else { return }
            bucket.onRequest = { _, _ in }
            do { try history.work(minutes: 45) } catch { throw ReplicationError.bucket("\(error)") }
        }
        let report = try BucketVerifier().run(on: bucket)
        #expect(report.problems == [])
        #expect(report.batches?.upperBound == history.leader.store.shippedSequence)
    }

    // One of 29 runs called a healthy bucket damaged.
    @Test("A base that expires between its name and its bytes does not make a bucket damaged")
    func expiredMeanwhile() throws {
        let history = try history()
        let oldest = try #require(try BaseManifest.numbers(on: history.leader.bucket).first)
        let bucket = MemoryBucket(history.objects)
        bucket.onRequest = { (operation, name) throws(ReplicationError) in
            guard operation == .get, name == ShardNames.manifest(oldest) else { return }
            bucket.onRequest = { _, _ in }
            for name in history.objects.names where name.hasPrefix(ShardNames.base(oldest)) {
                history.objects[name] = nil
            }
        }
        #expect(try BucketVerifier().run(on: bucket).problems == [])
    }
}
