import BlobStore
import TestSupport
import Testing

@testable import Replication

/// One object that a bucket never gives, takes or deletes ends none of a leader's jobs there.
@Suite struct BucketJobsTests {
    private let objects = MemoryObjects()
    private let clock = TestClock()

    private func leader() throws -> Member {
        let leader = try Member("leader", objects, clock: clock)
        leader.appendsForBases = true
        leader.schedule = BaseSchedule(
            intervalMilliseconds: 3_600_000, retentionMilliseconds: 3_600_000)
        try leader.beginWithBase()
        return leader
    }

    /// Six hours in which a long payload is replaced all the time.
    private func work(_ leader: Member) throws {
        for number in 0..<72 {
            clock.advance(milliseconds: 300_000)
            try leader.store.put("n", SeededGenerator.bytes(70_000, seed: UInt64(number)))
            try leader.ship()
            for _ in 0..<4 {
                clock.advance(milliseconds: 5_000)
                _ = try? leader.maintain()
            }
        }
    }

    /// Which object fails, and how.
    enum Bad: CaseIterable {
        case segment, manifest, oldSegment, oldBase, blob
    }

    // Whatever came after it in the list of jobs was never done again.
    @Test(
        "Bases are made, and old ones and the log before them deleted, whichever object always answers 500",
        arguments: Bad.allCases)
    func never(_ bad: Bad) throws {
        let leader = try leader()
        for number in 0..<3 {
            try leader.store.put("n", SeededGenerator.bytes(70_000, seed: 100 + UInt64(number)))
            try leader.ship()
        }
        let position = try #require(leader.store.replicationState).position.number
        let base = try #require(BaseManifest.numbers(on: leader.bucket).last)
        let blob = try #require(objects.names.last { $0.hasPrefix(ShardNames.blobPrefix) })
        let (name, operation): (String, MemoryBucket.Operation) =
            switch bad {
            case .segment: (ShardNames.log(position + 20), .get)
            case .manifest: (ShardNames.manifest(base), .get)
            case .oldSegment: (ShardNames.log(position - 1), .delete)
            case .oldBase: (ShardNames.manifest(base), .delete)
            case .blob: (blob, .delete)
            }
        var hitCount = 0
        leader.upkeep.onRequest = { (asked, of) throws(ReplicationError) in
            guard asked == operation, of == name else { return }
            hitCount += 1
            throw .bucket("\(asked) \(of): 500 InternalError")
        }
        if bad == .manifest { try leader.reopen(); try leader.resume() }
        try work(leader)
        #expect(hitCount > 0)
        let last = try #require(leader.store.replicationState).position.number
        let bases = try BaseManifest.numbers(on: leader.bucket)
        #expect(try #require(bases.last) + 30 > last)
        #expect(bases.count < 6, "\(bases)")
        // What is after a base stays with it.
        #expect(bad == .oldBase || objects.count(ShardNames.logPrefix) < 60)
        let blobs = objects.names.filter { $0.hasPrefix(ShardNames.blobPrefix) }
        #expect(blobs.count < 45)
        leader.upkeep.onRequest = { _, _ in }
        let follower = try Member("follower", seededFrom: objects, clock: clock)
        try follower.follow()
        #expect(try follower.contents() == leader.contents())
    }

    // Each attempt took a name of the log, every six seconds.
    @Test("A base that cannot be uploaded is tried less and less often, and that is said")
    func upload() throws {
        let leader = try leader()
        clock.advance(milliseconds: 3_600_000)
        leader.upkeep.onRequest = { (operation, name) throws(ReplicationError) in
            if operation == .create, name.hasPrefix(ShardNames.basePrefix) {
                throw .bucket("create \(name): 500 InternalError")
            }
        }
        let names = objects.count(ShardNames.logPrefix)
        var attempts = 0
        for _ in 0..<720 {
            clock.advance(milliseconds: 5_000)
            do { try leader.maintain() } catch { attempts += 1 }
        }
        #expect((15...40).contains(attempts), "\(attempts)")
        #expect(objects.count(ShardNames.logPrefix) - names <= attempts + 1)
        let problem = try #require(leader.maintenance?.problem)
        #expect(problem.hasPrefix("cannot upload a base: create base/"), "\(problem)")
        #expect(problem.contains("500 InternalError (failed \(attempts) times"), "\(problem)")
        leader.upkeep.onRequest = { _, _ in }
        for _ in 0..<70 {
            clock.advance(milliseconds: 5_000)
            try leader.maintain()
        }
        #expect(leader.maintenance?.problem == nil)
        #expect(try BaseManifest.numbers(on: leader.bucket).count >= 2)
    }

    // It was asked for every second, and nobody was told.
    @Test("A base of which each answer is lost is tried ever less often, and that is said")
    func lostAnswers() throws {
        let leader = try leader()
        try leader.store.put("short", [1])
        try leader.ship()
        clock.advance(milliseconds: 3_600_000)
        var tries = 0
        leader.upkeep.onRequest = { (operation, asked) throws(ReplicationError) in
            guard operation == .create, asked.contains("manifest.json") else { return }
            tries += 1
            throw .bucket("create \(asked): no answer")
        }
        for _ in 0..<720 {
            clock.advance(milliseconds: 5_000)
            _ = try? leader.maintain()
        }
        #expect((5...60).contains(tries), "\(tries)")
        let problem = try #require(leader.maintenance?.problem)
        #expect(problem.hasPrefix("cannot finish a base: create base/"), "\(problem)")
        leader.upkeep.onRequest = { _, _ in }
        for _ in 0..<70 {
            clock.advance(milliseconds: 5_000)
            try leader.maintain()
        }
        #expect(leader.maintenance?.problem == nil)
    }

    /// A leader with a base that has a payload which was deleted since.
    private func leaderWithBase() throws -> (Member, blob: BlobReference, base: UInt64) {
        let leader = try leader()
        let blob = try leader.store.put("kept", SeededGenerator.bytes(70_000, seed: 300))
            .parts[0].blob
        try leader.ship()
        clock.advance(milliseconds: 3_600_000)
        try leader.maintain()
        let base = try #require(BaseManifest.numbers(on: leader.bucket).last)
        try leader.store.delete("kept", asOf: noon)
        try leader.ship()
        return (leader, blob, base)
    }

    // The base was one whose parts were missing, and what was made of the log before it could not be restored. Then its
    // payloads were.
    @Test("A base whose manifest cannot be deleted keeps its parts and payloads, and that is said")
    func manifest() throws {
        let (leader, blob, base) = try leaderWithBase()
        let name = ShardNames.manifest(base)
        leader.upkeep.onRequest = { (operation, asked) throws(ReplicationError) in
            if operation == .delete, asked == name { throw .bucket("delete \(asked): 500") }
        }
        try work(leader)
        #expect(try BaseManifest.numbers(on: leader.bucket).first == base)
        #expect(objects.count(ShardNames.base(base)) > 1)
        #expect(objects[ShardNames.blob(blob)] != nil)
        // Others that are garbage are deleted all the same.
        #expect(objects.count(ShardNames.blobPrefix) < 45)
        let folder = TemporaryFolder()
        try Seeder.seed(
            folder.path, options: Member.options,
            from: BaseManifest.read(base, on: leader.bucket), asOf: clock.now, on: leader.bucket)
        let problem = try #require(leader.maintenance?.problem)
        #expect(
            problem
                == "cannot delete what is no longer needed completely: delete \(name): 500")
        leader.upkeep.onRequest = { _, _ in }
        clock.advance(milliseconds: ReplicationLimits.collectMilliseconds)
        try leader.maintain()
        #expect(objects.count(ShardNames.base(base)) == 0)
        #expect(objects[ShardNames.blob(blob)] == nil)
        #expect(leader.maintenance?.problem == nil)
    }

    // It may be read again: what only it has was deleted.
    @Test("No payload is deleted while an old base can be neither read nor deleted")
    func unknownManifest() throws {
        let (leader, blob, base) = try leaderWithBase()
        leader.upkeep.onRequest = { (operation, asked) throws(ReplicationError) in
            guard asked == ShardNames.manifest(base), [.get, .delete].contains(operation) else {
                return
            }
            throw .bucket("\(operation) \(asked): 500")
        }
        try leader.reopen()
        try leader.resume()
        try work(leader)
        #expect(objects[ShardNames.blob(blob)] != nil)
        leader.upkeep.onRequest = { _, _ in }
        clock.advance(milliseconds: ReplicationLimits.collectMilliseconds)
        try leader.maintain()
        #expect(objects.count(ShardNames.base(base)) == 0)
        #expect(objects[ShardNames.blob(blob)] == nil)
    }

    // They stayed until the next start, and nobody was told.
    @Test("Old segments that cannot be deleted are tried again, and that is said")
    func segments() throws {
        let leader = try leader()
        for number in 0..<20 {
            try leader.store.put("n\(number)", [1])
            try leader.ship()
        }
        let last = try #require(leader.store.replicationState).position.number
        let bad = Set([last - 9, last - 6, last - 5, last - 4].map(ShardNames.log))
        // One alone, and three in a row.
        leader.upkeep.onRequest = { (operation, asked) throws(ReplicationError) in
            if operation == .delete, bad.contains(asked) { throw .bucket("delete \(asked): 500") }
        }
        func pass(minutes: Int) {
            for _ in 0..<minutes * 12 {
                clock.advance(milliseconds: 5_000)
                _ = try? leader.maintain()
            }
        }
        func left() -> Set<String> {
            Set(
                objects.names.filter {
                    $0.hasPrefix(ShardNames.logPrefix) && $0 < ShardNames.log(last)
                })
        }
        // Two bases, so that the first one's time is over.
        pass(minutes: 200)
        #expect(left().isSuperset(of: bad) && left().count < 12)
        #expect(leader.maintenance?.problem?.contains("cannot delete old segments") == true)
        leader.upkeep.onRequest = { _, _ in }
        pass(minutes: 25)
        #expect(left() == [ShardNames.log(1)], "the fence")
        #expect(leader.maintenance?.problem == nil)
    }

    // A base was made, and nothing could be restored between that segment and it.
    @Test("A segment that is given again before it is called lost is not lost")
    func givenAgain() throws {
        let leader = try leader()
        for number in 0..<4 {
            try leader.store.put("n\(number)", [1])
            try leader.ship()
        }
        let last = try #require(leader.store.replicationState).position.number
        let bases = try BaseManifest.numbers(on: leader.bucket)
        var (isAway, lookCount) = (true, 0)
        leader.upkeep.onRequest = { (operation, asked) throws(ReplicationError) in
            if asked == ShardNames.store { isAway = false }
            guard isAway, operation == .get, asked == ShardNames.log(last - 1) else { return }
            lookCount += 1
            throw .bucket("get \(asked): 500")
        }
        for _ in 0..<200 {
            clock.advance(milliseconds: 5_000)
            _ = try? leader.maintain()
        }
        #expect(!isAway && lookCount == ReplicationLimits.unreadableSegmentLookCount)
        #expect(try BaseManifest.numbers(on: leader.bucket) == bases)
        #expect(leader.maintenance?.problem == nil)
    }

    // The object of a copy of the folder passed for it.
    @Test("A payload is missing where another one's object has its number")
    func sameNumber() throws {
        let leader = try leader()
        let blob = try leader.store.put("n", SeededGenerator.bytes(70_000)).parts[0].blob
        try leader.ship()
        let name = ShardNames.blob(blob)
        let other = name.dropLast() + (name.last == "0" ? "1" : "0")
        objects[String(other)] = objects[name]
        objects[name] = nil
        clock.advance(milliseconds: 3_600_000)
        let steps = try leader.maintain()
        #expect(steps.contains(.restoredBlobs(1, lost: [])))
        #expect(objects[name] != nil)
    }

    // Only a read finds a flipped bit; the listing gives the size.
    @Test("A payload whose object was cut is put again with the next base")
    func cutObject() throws {
        let leader = try leader()
        let blob = try leader.store.put("n", SeededGenerator.bytes(70_000)).parts[0].blob
        try leader.ship()
        let name = ShardNames.blob(blob)
        let whole = objects[name]
        objects[name]?.removeLast()
        clock.advance(milliseconds: 3_600_000)
        let steps = try leader.maintain()
        #expect(steps.contains(.restoredBlobs(1, lost: [])))
        #expect(objects[name] == whole)
    }

    // Its bytes were removed here, and the bucket had some of them.
    @Test("A payload whose object is short is not evicted")
    func shortObject() throws {
        let leader = try leader()
        let blobs = try (0..<3).map {
            try leader.store.put("n\($0)", SeededGenerator.bytes(70_000, seed: UInt64($0)))
                .parts[0].blob
        }
        try leader.ship()
        objects[ShardNames.blob(blobs[1])]?.removeLast()
        let found = try leader.store.evictableBlobs(
            from: 0, byteCountMax: .max, lookingAt: .max
        ).blobs
        #expect(found.count == 3)
        let whole = try LongBlobs.inBucket(found, of: leader.store, on: leader.bucket)
        #expect(whole.map(\.number) == [blobs[0].number, blobs[2].number])
    }
}
