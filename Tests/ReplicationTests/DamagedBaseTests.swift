import BlobStore
import Replication
import TestSupport
import Testing

/// A base that is damaged concerns nobody but those who would begin with it, and they begin with another one.
@Suite struct DamagedBaseTests {
    private static let schedule = BaseSchedule(
        intervalMilliseconds: 300_000, retentionMilliseconds: 1_200_000)

    /// A shard with several bases.
    private func history() throws -> TestHistory {
        let history = try TestHistory(seed: 21, schedule: Self.schedule)
        try history.work(minutes: 18)
        #expect(try BaseManifest.numbers(on: history.leader.bucket).count > 3)
        return history
    }

    private func damage(_ name: String, of history: TestHistory) {
        history.objects[name]?[20] ^= 1
    }

    /// One changed byte of a manifest stopped bases and collecting after the next start.
    @Test("A damaged manifest is left out by name, and bases and collecting continue")
    func maintenance() throws {
        let history = try history()
        let leader = history.leader
        let middle = try #require(try BaseManifest.numbers(on: leader.bucket).dropLast().last)
        damage(ShardNames.manifest(middle), of: history)
        try leader.reopen()
        try leader.resume()
        try leader.maintain()
        #expect(leader.maintenance?.damagedBases.map(\.name) == [ShardNames.manifest(middle)])
        let before = try BaseManifest.numbers(on: leader.bucket)
        try history.work(minutes: 8)
        #expect(try BaseManifest.numbers(on: leader.bucket).last != before.last)
        // It is deleted as soon as a good one is older than the retention.
        try history.work(minutes: 30)
        #expect(try !BaseManifest.numbers(on: leader.bucket).contains(middle))
        #expect(leader.maintenance?.damagedBases == [])
    }

    /// What the bucket answers for a manifest may be damaged, and not the manifest: what is behind it is kept.
    @Test("What is behind a damaged base is kept until a good one is older than the retention")
    func retention() throws {
        let history = try history()
        let leader = history.leader
        let first = try #require(try BaseManifest.numbers(on: leader.bucket).first)
        damage(ShardNames.manifest(first), of: history)
        try leader.reopen()
        try leader.resume()
        let segments = Set(
            history.objects.names.filter {
                $0.hasPrefix(ShardNames.logPrefix) && $0 > ShardNames.log(first)
            })
        try leader.maintain()
        history.clock.advance(milliseconds: 301_000)
        try leader.store.put("next", [1])
        try leader.ship()
        try leader.maintain()
        #expect(segments.isSubset(of: history.objects.names))
        #expect(history.objects[ShardNames.manifest(first)] != nil)
        damage(ShardNames.manifest(first), of: history)
        let sequence = try BaseManifest.read(first, on: leader.bucket).sequence
        let restored = try Restorer(.sequence(sequence), asOf: noon).restore(
            to: TemporaryFolder().path, from: leader.bucket)
        #expect(restored.base == first && restored.skipped == [])
    }

    /// One damaged manifest ended every restore, although older bases were good.
    @Test("A restore begins with an older base, and names what it left out")
    func restore() throws {
        let history = try history()
        let bases = try BaseManifest.numbers(on: history.leader.bucket)
        let newest = try #require(bases.last)
        let part = ShardNames.part(0, ofBase: try #require(bases.dropLast().last))
        damage(ShardNames.manifest(newest), of: history)
        history.objects[part]?[100] ^= 1
        func restore() throws -> Restorer.Restored {
            let folder = TemporaryFolder()
            let restored = try Restorer(.end, asOf: noon).restore(
                to: folder.path, from: MemoryBucket(history.objects))
            #expect(
                try BlobStore.openReadOnly(at: folder.path).tablesDigest()
                    == history.leader.store.tablesDigest())
            return restored
        }
        let restored = try restore()
        #expect(restored.skipped.map(\.name) == [ShardNames.manifest(newest), part])
        #expect(restored.base == bases[bases.count - 3])
        history.objects[part] = nil
        #expect(Set(try restore().skipped.map(\.name)) == [ShardNames.manifest(newest), part])
    }

    /// A listing that left a base out had another one written over its parts.
    @Test("A base is never written over another one, also where a listing leaves that out")
    func notWrittenOver() throws {
        let history = try history()
        let leader = history.leader
        let position = try #require(leader.shipper).position
        let epoch = try #require(leader.store.replicationState).epoch
        var writer = BaseWriter(leader.store, after: position, of: epoch, uploadsAllBlobs: false)
        try leader.bucket.put(ShardNames.part(0, ofBase: position.number), [1])
        #expect(throws: ReplicationError.self) {
            try writer.upload(on: leader.bucket) { noon }
        }
        #expect(history.objects[ShardNames.part(0, ofBase: position.number)] == [1])
    }
}
