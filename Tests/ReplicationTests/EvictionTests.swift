import BlobStore
import Dispatch
import Glibc
import Replication
import Synchronization
import TestSupport
import Testing

/// Payloads whose bytes are in the bucket and not here.
@Suite struct EvictionTests {
    private let objects = MemoryObjects()

    /// A leader with eight long payloads of 100 to 800 KB and a short one, all of them shipped.
    private func leader() throws -> Member {
        let leader = try Member("one", objects)
        try leader.begin()
        for number in 1...8 { try leader.store.put("id-\(number)", Self.bytes(number)) }
        try leader.store.put("short", [1, 2, 3])
        try leader.ship()
        try leader.store.saveShipped()
        return leader
    }

    private static func bytes(_ number: Int) -> [UInt8] {
        SeededGenerator.bytes(number * 100_000, seed: UInt64(number))
    }

    /// A payload's bytes; nil where they are in the bucket alone.
    private func read(_ number: Int, of store: BlobStore) throws -> [UInt8]? {
        do {
            guard let bytes = try store.ownedPayload(for: "id-\(number)", asOf: noon) else {
                throw TestFailure("id-\(number) is not there")
            }
            return bytes
        } catch let error as StoreError {
            guard case .evicted = error else { throw error }
            return nil
        }
    }

    private func blob(_ number: Int, of store: BlobStore) throws -> BlobReference {
        try #require(try store.record(for: "id-\(number)", asOf: noon)).parts[0].blob
    }

    private func requireSound(_ store: BlobStore, evicted: Int) throws {
        let report = try store.verify()
        #expect(report.problems == [] && report.evictedBlobs == evicted)
        #expect(try store.evictedBlobs().blobs == evicted)
    }

    @Test("Evicted payloads are fetched again, also after the store was opened again")
    func thereAndBack() throws {
        let leader = try leader()
        let before = try leader.store.usedByteCount()
        let contents = try leader.contents()
        #expect(try leader.evict() == 8)
        #expect(try before - leader.store.usedByteCount() > 3_600_000)
        try requireSound(leader.store, evicted: 8)
        for number in 1...8 { #expect(try read(number, of: leader.store) == nil) }
        #expect(try leader.store.ownedPayload(for: "short", asOf: noon) == [1, 2, 3])
        try leader.reopen()
        try leader.resume()
        for number in 1...8 {
            #expect(try read(number, of: leader.store) == nil)
            #expect(try leader.fetch(try blob(number, of: leader.store)) == .stored)
            #expect(try read(number, of: leader.store) == Self.bytes(number))
        }
        try requireSound(leader.store, evicted: 0)
        #expect(try leader.contents() == contents)
        #expect(try leader.fetch(try blob(1, of: leader.store)) == .gone, "it is here already")
    }

    @Test("What is not in the bucket, leased or copied by a backup is not evicted")
    func whatStays() throws {
        let leader = try leader()
        try leader.store.put("new", Self.bytes(3) + [1])
        let lease = leader.store.lease(try blob(2, of: leader.store))
        #expect(try leader.evict() == 7, "all but the new one and the leased one")
        #expect(try read(2, of: leader.store) == Self.bytes(2))
        withExtendedLifetime(lease) {}
    }

    @Test("A reader that has a lease goes on, and its payload stays")
    func leasedMeanwhile() throws {
        let leader = try leader()
        let store = leader.store
        let blobs = try store.evictableBlobs(from: 0, byteCountMax: .max, lookingAt: .max).blobs
        let blob = try blob(4, of: store)
        do {
            let snapshot = try store.makeSnapshot()
            #expect(try store.beginEvicting(blobs, bootMilliseconds: nil) == 8)
            // It found the payload before, and takes its lease now.
            let lease = snapshot.lease(blob)
            let other = snapshot.lease(try self.blob(6, of: store))
            #expect(!store.canAdvanceEviction, "the snapshot is open")
            #expect(try store.advanceEviction() == .waits)
            end(snapshot)
            // Later it reads on, in another snapshot.
            #expect(try byteCount(of: blob, from: 100_000, store) > 0)
            #expect(try read(5, of: store) == nil, "it has no lease of this one")
            while try store.advanceEviction() == .goesOn {}
            withExtendedLifetime(lease) {}
            withExtendedLifetime(other) {}
        }
        #expect(try read(4, of: store) == Self.bytes(4))
        #expect(
            try read(6, of: store) == Self.bytes(6), "nobody read it meanwhile, but it was leased")
        try requireSound(store, evicted: 6)
    }

    private func end(_ snapshot: consuming Snapshot) {}

    /// Bytes of a chunk that a new snapshot has.
    private func byteCount(
        of blob: BlobReference, from offset: Int, _ store: BlobStore
    ) throws -> Int {
        let snapshot = try store.makeSnapshot()
        return try snapshot.storedBytes(of: blob, from: offset).byteCount
    }

    @Test("A payload that is asked for while it is being evicted stays, or comes back")
    func askedForMeanwhile() throws {
        let leader = try leader()
        let store = leader.store
        let blobs = try store.evictableBlobs(from: 0, byteCountMax: .max, lookingAt: .max).blobs
        #expect(try store.beginEvicting(blobs, bootMilliseconds: nil) == 8)
        #expect(try leader.fetch(try blob(1, of: store)) == .stored, "it was closed only")
        #expect(try store.advanceEviction() == .goesOn)
        #expect(try leader.fetch(try blob(2, of: store)) == .later, "it is being removed")
        #expect(try store.advanceEviction() == .goesOn)
        #expect(try leader.fetch(try blob(2, of: store)) == .later, "it was removed")
        #expect(try store.advanceEviction() == .done)
        #expect(try leader.fetch(try blob(2, of: store)) == .stored)
        for number in 1...3 {
            #expect(try read(number, of: store) == (number < 3 ? Self.bytes(number) : nil))
        }
        try requireSound(store, evicted: 6)
    }

    /// A process ends anywhere: the next one finds a payload whole, or in the bucket.
    @Test("An eviction that is cut short is gone on with", arguments: 0...2)
    func cutShort(steps: Int) throws {
        let leader = try leader()
        let blobs = try leader.store.evictableBlobs(
            from: 0, byteCountMax: .max, lookingAt: .max
        ).blobs
        #expect(try leader.store.beginEvicting(blobs, bootMilliseconds: nil) == 8)
        for _ in 0..<steps { _ = try leader.store.advanceEviction() }
        try leader.reopen()
        try leader.resume()
        try requireSound(leader.store, evicted: 8)
        for number in 1...8 {
            let isThere = steps < 2
            #expect(
                try read(number, of: leader.store) == (isThere ? Self.bytes(number) : nil))
        }
        try leader.evict()
        try requireSound(leader.store, evicted: 8)
        #expect(try read(8, of: leader.store) == nil)
    }

    @Test("An evicted payload that is deleted, expires or is published again")
    func changedMeanwhile() throws {
        let leader = try leader()
        let store = leader.store
        let first = try blob(1, of: store)
        #expect(try leader.evict() == 8)
        try store.delete("id-1", asOf: noon)
        // The same bytes again: they are found by their digest, and are in the bucket.
        try store.put("again", Self.bytes(2))
        #expect(try store.freeOrphans(byteCountMax: .max).blobs == 1)
        try requireSound(store, evicted: 7)
        #expect(try leader.fetch(first) == .gone)
        try leader.ship()
        try leader.store.saveShipped()
        try leader.writeBase()
        let follower = try Member("two", seededFrom: objects)
        try follower.follow()
        #expect(try read(2, of: follower.store) == Self.bytes(2))
        #expect(try follower.store.ownedPayload(for: "again", asOf: noon) == Self.bytes(2))
        #expect(try read(8, of: follower.store) == Self.bytes(8))
        try requireSound(follower.store, evicted: 0)
    }

    /// Its key stayed for ever, and said that a blob was evicted that nobody had.
    @Test("A payload that was freed since it was found is not evicted")
    func freedMeanwhile() throws {
        let leader = try leader()
        let store = leader.store
        let blobs = try store.evictableBlobs(from: 0, byteCountMax: .max, lookingAt: .max).blobs
        try store.delete("id-1", asOf: noon)
        try leader.ship()
        try leader.store.saveShipped()
        #expect(try store.freeOrphans(byteCountMax: .max).blobs == 1)
        #expect(try store.beginEvicting(blobs, bootMilliseconds: nil) == 7)
        while try store.advanceEviction() == .goesOn {}
        try requireSound(store, evicted: 7)
    }

    @Test(
        "A follower leaves long payloads in the bucket while it has too much, and can take the lead"
    )
    func follower() throws {
        let leader = try leader()
        try leader.writeBase()
        let follower = try Member("two", seededFrom: objects, leavesBlobs: true)
        try requireSound(follower.store, evicted: 8)
        follower.localByteCountMax = 0
        try leader.store.put("id-1", Self.bytes(9))
        try leader.ship()
        try follower.follow()
        _ = try follower.store.freeOrphans(byteCountMax: .max)
        try requireSound(follower.store, evicted: 8)
        follower.localByteCountMax = 1 << 30
        try leader.store.put("id-2", Self.bytes(10))
        try leader.ship()
        try follower.follow()
        _ = try follower.store.freeOrphans(byteCountMax: .max)
        try requireSound(follower.store, evicted: 7)
        #expect(try read(2, of: follower.store) == Self.bytes(10))
        try leader.abandon()
        guard case .leads = try follower.takeOver() else {
            Issue.record("it does not lead")
            return
        }
        #expect(try read(1, of: follower.store) == nil)
        #expect(try follower.fetch(try blob(1, of: follower.store)) == .stored)
        #expect(try read(1, of: follower.store) == Self.bytes(9))
        try follower.store.put("id-3", Self.bytes(11))
        try follower.ship()
        try requireSound(follower.store, evicted: 5)
    }

    @Test("A backup of a store with evicted payloads is refused, and compacting keeps them evicted")
    func copies() throws {
        let leader = try leader()
        #expect(try leader.evict([try blob(7, of: leader.store).number]) == 1)
        let error = #expect(throws: StoreError.self) {
            _ = try leader.store.backUp(asOf: noon) { _ in }
        }
        #expect("\(try #require(error))".contains("1 payloads (700000 bytes) are in the bucket"))
    }

    /// Readers go on with pages under leases, as workers do that send them, while payloads are evicted, fetched
    /// again, and others take their pages.
    @Test("No reader ever sees another byte")
    func readersBeside() throws {
        let seed = testSeed(3)
        print("eviction beside readers: seed \(seed)")
        let leader = try leader()
        let store = leader.store
        let blobs = try (1...8).map { try blob($0, of: store) }
        let (expected, filler) = ((1...8).map(Self.bytes), Self.bytes(9))
        let counts = ReaderCounts()
        let group = DispatchGroup()
        for index in 1...3 {
            DispatchQueue(label: "reader").async(group: group) {
                var generator = SeededGenerator(seed: seed &+ UInt64(index))
                while !counts.isDone.load(ordering: .acquiring) {
                    let number = Int.random(in: 0..<8, using: &generator)
                    counts.note(
                        Result {
                            try Self.isReadRightly(
                                blobs[number], expected[number], of: store)
                        })
                }
            }
        }
        defer {
            counts.isDone.store(true, ordering: .releasing)
            group.wait()
        }
        var generator = SeededGenerator(seed: seed)
        for round in 0..<40 {
            let some = blobs.filter { _ in generator.chance(50) }
            _ = try leader.evict(some.map(\.number))
            while try store.advanceEviction() != .done { sched_yield() }
            // Others take the pages.
            try store.put("filler", filler + [UInt8(round)])
            try leader.ship()
            _ = try store.freeOrphans(byteCountMax: .max)
            for blob in some where generator.chance(80) {
                while try leader.fetch(blob) == .later { sched_yield() }
            }
        }
        counts.isDone.store(true, ordering: .releasing)
        group.wait()
        let (whole, evicted) = (
            counts.whole.load(ordering: .relaxed), counts.evicted.load(ordering: .relaxed)
        )
        print("  \(whole) read, \(evicted) found evicted")
        #expect(counts.wrong.load(ordering: .relaxed) == 0, "seed \(seed)")
        #expect(whole > 0 && evicted > 0)
        #expect(try store.verify().problems == [])
    }

    private static func isSame(
        _ bytes: UnsafeRawBufferPointer, _ expected: [UInt8], _ offset: Int
    ) -> Bool {
        expected.withUnsafeBytes {
            memcmp(bytes.baseAddress!, $0.baseAddress! + offset, bytes.count) == 0
        }
    }

    /// What readers saw.
    private final class ReaderCounts: Sendable {
        let isDone = Atomic(false)
        let wrong = Atomic(0)
        let whole = Atomic(0)
        let evicted = Atomic(0)

        func note(_ result: Result<Bool, any Error>) {
            switch result {
            case .success(true): whole.add(1, ordering: .relaxed)
            case .failure(StoreError.evicted): evicted.add(1, ordering: .relaxed)
            case .success(false), .failure: wrong.add(1, ordering: .relaxed)
            }
        }
    }

    /// Reads the first chunk, goes on with its pages under a lease when the snapshot has ended, and reads the
    /// rest from later snapshots.
    ///
    /// - Throws: ``StoreError/evicted(_:)`` at the first chunk alone.
    private static func isReadRightly(
        _ blob: BlobReference, _ expected: [UInt8], of store: BlobStore
    ) throws(StoreError) -> Bool {
        var leases = LeaseQueue(of: store)
        let first: UnsafeRawBufferPointer
        do {
            let snapshot = try store.makeSnapshot()
            let bytes = try snapshot.storedBytes(of: blob, from: 0)
            first = bytes.withUnsafeBytes { $0 }
            leases.take(blob, until: 1)
        }
        var isRight = true
        var offset = first.count
        while offset < blob.storedByteCount {
            let snapshot = try store.makeSnapshot()
            do throws(StoreError) {
                let bytes = try snapshot.storedBytes(of: blob, from: offset)
                let count = bytes.byteCount
                isRight = isRight && bytes.withUnsafeBytes { isSame($0, expected, offset) }
                offset += count
            } catch {
                // It has a lease: this must not be.
                return false
            }
        }
        isRight = isRight && isSame(first, expected, 0)
        leases.release(upTo: 1)
        return isRight
    }
}
