import BlobStore
import Replication
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
            while try store.advanceEviction() == .continues {}
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
        #expect(try store.advanceEviction() == .continues)
        #expect(try leader.fetch(try blob(2, of: store)) == .later, "it is being removed")
        #expect(try store.advanceEviction() == .continues)
        #expect(try leader.fetch(try blob(2, of: store)) == .later, "it was removed")
        #expect(try store.advanceEviction() == .done)
        #expect(try leader.fetch(try blob(2, of: store)) == .stored)
        for number in 1...3 {
            #expect(try read(number, of: store) == (number < 3 ? Self.bytes(number) : nil))
        }
        try requireSound(store, evicted: 6)
    }

    /// The publish was acknowledged as replicated, and no host had its bytes, nor the bucket.
    @Test("An evicted payload whose object is gone heals everywhere when it is published again")
    func publishedAgain() throws {
        let leader = try leader()
        try leader.writeBase()
        let follower = try Member("two", seededFrom: objects, leavesBlobs: true)
        #expect(try leader.evict() == 8)
        let (gone, good) = (try blob(3, of: leader.store), try blob(4, of: leader.store))
        objects[ShardNames.blob(gone)] = nil
        for number in 3...5 { try leader.store.put("again-\(number)", Self.bytes(number)) }
        let digests = try [3, 4, 5].map { try blob($0, of: leader.store).digest }
        for (index, number) in [3, 4, 5].enumerated() {
            let bytes = Self.bytes(number)
            #expect(try leader.store.ownedPayload(for: "again-\(number)", asOf: noon) == bytes)
            #expect(
                try leader.store.ownedPayload(digest: digests[index], asOf: noon) == bytes)
        }
        // The older notification is left alone with the evicted payload.
        try leader.store.delete("again-4", asOf: noon)
        #expect(try leader.store.statistics().blobs == 9)
        #expect(
            throws: StoreError.evicted(good), "it is there"
        ) { try leader.store.ownedPayload(digest: digests[1], asOf: noon) }
        var position = HealingPosition()
        try leader.store.quarantineFound(asOf: noon)
        while try leader.store.heal(&position, asOf: noon) {}
        try leader.ship()
        for number in [3, 5] { #expect(try read(number, of: leader.store) == Self.bytes(number)) }
        #expect(try read(4, of: leader.store) == nil)
        _ = try leader.store.freeOrphans(byteCountMax: .max)
        try requireSound(leader.store, evicted: 6)
        follower.localByteCountMax = 0
        try follower.follow()
        _ = try follower.store.freeOrphans(byteCountMax: .max)
        try requireSound(follower.store, evicted: 8)
        for number in 1...8 {
            let isHere = number == 3 || number == 5
            #expect(
                try leader.fetch(try blob(number, of: leader.store)) == (isHere ? .gone : .stored))
            #expect(try follower.fetch(try blob(number, of: follower.store)) == .stored)
            #expect(try read(number, of: follower.store) == Self.bytes(number))
        }
        #expect(try follower.contents() == leader.contents())
        #expect(try leader.evict() == 8)
        try requireSound(leader.store, evicted: 8)
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
        while try store.advanceEviction() == .continues {}
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

    /// The batch stayed as it was: none of its payloads could be fetched, and nothing more was evicted, also after a
    /// restart.
    @Test(
        "A payload in a damaged page stays here, and the others are evicted and fetched",
        arguments: [0, 3], Files.PageField.allCases)
    func damagedPage(chunk: Int, _ field: Files.PageField) throws {
        let leader = try leader()
        // Of four chunks; the last one is looked at before any is removed.
        let bytes = Self.bytes(2)
        let offset = chunk == 0 ? 0 : bytes.count - StoreLimits.chunkByteCountMax
        func requireOthers(_ location: SourceLocation = #_sourceLocation) throws {
            for number in 1...8 where number != 2 {
                #expect(try read(number, of: leader.store) == nil, sourceLocation: location)
                let blob = try blob(number, of: leader.store)
                #expect(try leader.fetch(blob) == .stored, sourceLocation: location)
                let found = try read(number, of: leader.store)
                #expect(found == Self.bytes(number), sourceLocation: location)
            }
            #expect(try read(2, of: leader.store) == bytes, sourceLocation: location)
            #expect(try leader.store.evictedBlobs().blobs == 0, sourceLocation: location)
            let named = leader.store.takeIrremovableBlobs().map(\.number)
            #expect(
                named == [try blob(2, of: leader.store).number], sourceLocation: location)
        }
        let blobs = try leader.store.evictableBlobs(
            from: 0, byteCountMax: .max, lookingAt: .max
        ).blobs
        #expect(blobs.count == 8)
        func damage() throws {
            try Files.damageHeader(
                ofPageWith: bytes[offset..<offset + 32], field, bit: field == .flags ? 4 : 1,
                in: leader.folder.path("data.mdb"))
        }
        // While they are being evicted.
        #expect(try leader.store.beginEvicting(blobs, bootMilliseconds: nil) == 8)
        try damage()
        while try leader.store.advanceEviction() == .continues {}
        #expect(leader.store.evictionCountEver == 7 && !leader.store.isEvicting)
        try requireOthers()
        #expect(try leader.evict() == 7, "it is stepped over")
        try requireNothingNamed(leader.store)
        for number in 1...8 where number != 2 {
            #expect(try leader.fetch(try blob(number, of: leader.store)) == .stored)
        }
        // After a restart it is met again.
        try leader.reopen()
        try leader.resume()
        #expect(try leader.evict() >= 7)
        #expect(leader.store.evictionCountEver == 7 && !leader.store.isEvicting)
        try requireOthers()
    }

    private func requireNothingNamed(_ store: BlobStore) throws {
        #expect(store.takeIrremovableBlobs().isEmpty)
    }
}
