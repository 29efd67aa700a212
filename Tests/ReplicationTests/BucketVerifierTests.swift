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
        #expect(report.segmentCount > 10 && report.payloadCount > 2)
        #expect(throws: ReplicationError.noShard) { try verify(MemoryObjects()) }
    }

    @Test("Each object that is damaged or missing is named, all in one run")
    func damage() throws {
        let history = try history()
        let whole = history.objects.all
        let sound = try verify(history.objects)
        let bases = try BaseManifest.numbers(on: history.leader.bucket)
        let oldest = try #require(bases.first)
        let segments = whole.keys.filter {
            $0 > ShardNames.log(oldest) && $0.hasPrefix(ShardNames.logPrefix)
        }.sorted()
        let blobs = whole.keys.filter { $0.hasPrefix("blob/") }.sorted()
        let names =
            [
                ShardNames.manifest(try #require(bases.dropFirst().first)),
                ShardNames.part(0, ofBase: try #require(bases.last)),
                try #require(segments.first), try #require(segments.dropLast().last),
            ] + blobs.suffix(2)
        for isMissing in [false, true] {
            let objects = MemoryObjects(whole)
            // A manifest that is not there is not known to be missing.
            let changed = isMissing ? Array(names.dropFirst()) : names
            for name in changed {
                if isMissing { objects[name] = nil } else { objects[name]?[30] ^= 4 }
            }
            let report = try verify(objects)
            let found = Set(report.problems.map(\.name))
            // What only a damaged object names is not looked for.
            #expect(found.isSuperset(of: changed.dropLast(2)), "missing \(isMissing)")
            #expect(found.isSubset(of: changed), "missing \(isMissing)")
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
        let report = try verify(objects)
        #expect(report.problems.map(\.name) == [ShardNames.log(last - 3)])
        #expect(report.problems.first?.why.hasPrefix("is missing") == true)
    }

    /// What the leader deletes meanwhile is not missing.
    @Test("A leader that deletes what is being read does not make a bucket damaged")
    func deletedMeanwhile() throws {
        let history = try history()
        let bucket = MemoryBucket(history.objects)
        bucket.onRequest = { (operation, name) throws(ReplicationError) in
            guard operation == .get, name.hasPrefix(ShardNames.logPrefix) else { return }
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
