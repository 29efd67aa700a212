import Replication
import TestSupport
import Testing

@testable import BlobStore

/// What a host has of a blob's bytes is one state, however often steps are cut short and repeated.
@Suite struct BlobStateTests {
    private let objects = MemoryObjects()

    private static func bytes(_ number: Int, _ count: Int = 300_000) -> [UInt8] {
        SeededGenerator.bytes(count + number, seed: UInt64(100 + number))
    }

    private func blob(_ id: String, of store: BlobStore) throws -> BlobReference {
        try #require(try store.record(for: id, asOf: noon)).parts[0].blob
    }

    private func leader(_ count: Int, byteCount: Int = 300_000) throws -> Member {
        let leader = try Member("one", objects)
        try leader.begin()
        try leader.writeBase()
        for number in 0..<count {
            try leader.store.put("id-\(number)", Self.bytes(number, byteCount))
        }
        return leader
    }

    /// Changes a byte of a payload in the file, behind the back of who has it open.
    private func damage(_ payload: [UInt8], of member: Member, at offset: Int = 120_000) throws {
        try Files.damage(payload[offset..<offset + 64], in: member.folder.path("data.mdb"))
    }

    /// Reads everything again, as the daemon's thread does, and notes what is damaged.
    private func scrub(_ store: BlobStore, heals: Bool) throws {
        var scrubber = try store.makeScrubber()
        scrubber.begin(asOf: noon)
        while try scrubber.step(byteCountMax: 1 << 20, asOf: noon) != nil {}
        #expect(scrubber.takeFindings() == [])
        var position = HealingPosition()
        try store.quarantineFound(asOf: noon)
        while heals, try store.heal(&position, asOf: noon) {}
    }

    private func requireSame(_ follower: Member, _ leader: Member, _ name: Comment) throws {
        _ = try follower.store.freeOrphans(byteCountMax: .max)
        #expect(try follower.store.verify().problems == [], name)
        #expect(try follower.contents() == leader.contents(), name)
        #expect(try follower.store.statistics().orphanBlobs == 0, name)
    }

    /// A whole chunk that an interrupted fetch had put back was written again by the next one, and its pages
    /// were used for something else while a reader had them under a lease.
    @Test("Bytes that are fetched again keep the chunks that are here")
    func interruptedFetch() throws {
        let leader = try leader(1)
        try leader.ship()
        let (store, bytes) = (leader.store, Self.bytes(0))
        let blob = try blob("id-0", of: store)
        #expect(try leader.evict() == 1)
        let last = blob.chunkCount - 1
        // As far as an attempt came before it ended.
        try store.pipeline.change(isPublishing: false) { (transaction) throws(StoreError) in
            try transaction.transaction.putChunk(
                of: blob, at: last, bytes, in: store.core.tables.chunks)
        }
        func place(_ index: Int) throws -> UnsafeRawPointer? {
            try store.core.withSnapshot { (snapshot) throws(StoreError) in
                let chunk = try ChunkReader(snapshot).checkedChunk(of: blob, at: index)
                return chunk.withUnsafeBytes { $0.baseAddress }
            }
        }
        let before = try place(last)
        let lease = store.lease(blob)
        #expect(try leader.fetch(blob) == .stored)
        #expect(try place(last) == before)
        withExtendedLifetime(lease) {}
        #expect(try store.ownedPayload(for: "id-0", asOf: noon) == bytes)
        #expect(try store.verify().problems == [])
    }

    /// 136 of 136 evicted payloads were reported as damaged.
    @Test("Reading the store again finds nothing wrong with evicted payloads")
    func scrubbedWhileEvicted() throws {
        let leader = try leader(4)
        try leader.ship()
        #expect(try leader.evict() == 4)
        try scrub(leader.store, heals: true)
        #expect(leader.store.damageCounts == DamageCounts(chunks: 0, records: 0, entries: 0))
        #expect(leader.store.quarantinedBlobs == [])
        #expect(try leader.store.verify().evictedBlobs == 4)
    }

    private func compact(_ member: Member) throws {
        let path = member.folder.path
        try member.reopen {
            _ = try BlobStore.compact(at: path, options: Member.options, asOf: noon)
        }
    }

    /// What nothing referred to any more was left out, and its batch could never be shipped.
    @Test("A compacted leader ships what waited, also of payloads that are deleted since")
    func compactedWhileUnshipped() throws {
        let leader = try leader(3)
        try leader.store.put("short", [1, 2, 3])
        try leader.store.put("short", [4, 5, 6])
        try leader.store.delete("id-1", asOf: noon)
        try leader.store.put("id-2", Self.bytes(7))
        #expect(try leader.store.statistics().orphanBlobs == 3)
        try compact(leader)
        #expect(try leader.store.verify().problems == [])
        try leader.resume()
        try leader.ship()
        let follower = try Member("two", seededFrom: objects)
        try follower.follow()
        try requireSame(follower, leader, "compacted")
        _ = try leader.store.freeOrphans(byteCountMax: .max)
        #expect(try leader.store.statistics().orphanBlobs == 0)
        #expect(try leader.store.verify().problems == [])
    }

    /// It was refused as long as one payload was evicted.
    @Test("A backup fetches what is in the bucket alone")
    func backupWhileEvicted() throws {
        let leader = try leader(5)
        try leader.store.put("short", [1, 2, 3])
        try leader.ship()
        let store = leader.store
        #expect(try leader.evict([1, 3].map { try blob("id-\($0)", of: store).number }) == 2)
        let error = #expect(throws: StoreError.self) { _ = try store.backUp(asOf: noon) { _ in } }
        let byteCount = Self.bytes(1).count + Self.bytes(3).count
        #expect(
            "\(try #require(error))".contains(
                "2 payloads (\(byteCount) bytes) are in the bucket"))
        var backup: [UInt8] = []
        try store.backUp(asOf: noon) { blobs, put in
            for blob in blobs {
                try put(
                    blob, .bytes(try LongBlobs.bytes(of: blob, in: store.id, on: leader.bucket)))
            }
        } to: { bytes in
            bytes.withUnsafeBytes { backup.append(contentsOf: $0) }
        }
        let folder = TemporaryFolder()
        var rest = backup[...]
        try BlobStore.restore(to: folder.path + "/store", asOf: noon) { buffer, byteCountMax in
            buffer += rest.prefix(byteCountMax)
            rest = rest.dropFirst(byteCountMax)
        }
        let restored = try BlobStore.open(at: folder.path + "/store")
        #expect(try restored.verify().problems == [])
        for number in 0..<5 {
            #expect(
                try restored.ownedPayload(for: "id-\(number)", asOf: noon) == Self.bytes(number))
        }
        #expect(try store.evictedBlobs().blobs == 2)
    }

    /// Damage was shipped: a bit that flipped on the leader took the payload from its followers, and no
    /// restore was possible.
    @Test("Damage stays on its host, and is mended from the bucket")
    func damagedLeader() throws {
        let leader = try leader(2)
        try leader.ship()
        let follower = try Member("two", seededFrom: objects)
        try follower.follow()
        for member in [leader, follower] {
            let last = leader.store.lastSequence
            let blob = try blob("id-1", of: member.store)
            try damage(Self.bytes(1), of: member)
            try scrub(member.store, heals: member === leader)
            #expect(member.store.quarantinedBlobs.map(\.isInBucket) == [true])
            #expect(member.store.damageCounts.chunks == 1)
            #expect(throws: StoreError.evicted(blob)) {
                try member.store.ownedPayload(for: "id-1", asOf: noon)
            }
            #expect(leader.store.lastSequence == last, "nothing is shipped")
            if member === leader {
                try leader.writeBase(all: false)
                let other = try Member("three", seededFrom: objects)
                #expect(try other.store.ownedPayload(for: "id-1", asOf: noon) == Self.bytes(1))
                #expect(try other.store.verify().problems == [])
            }
            // The state is in the store, too.
            try member.reopen {}
            if member === leader { try member.resume() }
            #expect(member.store.quarantinedBlobs.count == 1)
            // A peer may still be sent the pages: they are mended where they are, and are not replaced.
            do {
                let lease = member.store.lease(blob)
                #expect(try member.fetch(blob) == .stored)
                withExtendedLifetime(lease) {}
            }
            #expect(member.store.quarantinedBlobs == [])
            #expect(try member.store.ownedPayload(for: "id-1", asOf: noon) == Self.bytes(1))
            #expect(try member.store.verify().problems == [])
        }
        #expect(try follower.contents() == leader.contents())
    }

    // Nobody else read the payload: each base of that leader failed, and a shard without one takes no followers.
    @Test("A base that meets damage which nobody knew of is made when that is noted")
    func damageFoundByBase() throws {
        let leader = try leader(1)
        let bytes = Self.bytes(9, 20_000)
        try leader.store.put("short", bytes)
        try leader.ship()
        try damage(bytes, of: leader, at: 9_000)
        #expect(throws: StoreError.self) { try leader.writeBase() }
        #expect(leader.store.needsScrubber)
        try leader.store.makeScrubber().checkSuspects()
        var position = HealingPosition()
        try leader.store.quarantineFound(asOf: noon)
        while try leader.store.heal(&position, asOf: noon) {}
        try leader.writeBase()
        #expect(try Member("two", seededFrom: objects).store.quarantinedBlobs.count == 1)
    }

    // The old blob was neither in the bucket nor said to be lost: nothing could be restored, and no follower built, until
    // the next base.
    @Test("A base from right after damage was met by a publish of the same bytes can be restored")
    func damageFoundByPublish() throws {
        let leader = try leader(1)
        try leader.ship()
        let bytes = Self.bytes(20)
        try leader.store.put("old", bytes)
        try damage(bytes, of: leader)
        try leader.store.put("new", bytes)
        let (store, bucket) = (leader.store, leader.bucket)
        var writer = BaseWriter(
            store, after: try #require(leader.shipper).position,
            of: try #require(store.replicationState).epoch, uploadsAllBlobs: true)
        try writer.upload(on: bucket) { noon }
        #expect(throws: StoreError.self) { try leader.ship() }
        try store.quarantineFound(asOf: noon)
        #expect(store.quarantinedBlobs.count == 1 && store.damageCounts.chunks == 1)
        try leader.ship()
        #expect(try writer.finish(on: bucket) == .finished)
        let folder = TemporaryFolder()
        _ = try Restorer(.end, asOf: noon).restore(to: folder.path, from: bucket)
        let restored = try BlobStore.openReadOnly(at: folder.path)
        #expect(try restored.ownedPayload(for: "new", asOf: noon) == bytes)
        #expect(throws: StoreError.self) { try restored.ownedPayload(for: "old", asOf: noon) }
        let other = try Member("two", seededFrom: objects)
        var position = HealingPosition()
        while try store.heal(&position, asOf: noon) {}
        try leader.ship()
        try other.follow()
        for member in [leader, other] {
            #expect(try member.store.ownedPayload(for: "old", asOf: noon) == bytes)
            _ = try member.store.freeOrphans(byteCountMax: .max)
            try member.store.quarantineFound(asOf: noon)
            #expect(member.store.quarantinedBlobs == [])
            #expect(try member.store.verify().problems == [])
        }
    }

    /// Publishing the bytes again did not help a follower: its leader had them, and shipped nothing.
    @Test("Short payloads are found again in bases and segments")
    func shortFromBucket() throws {
        let leader = try leader(0)
        for number in 0..<3 {
            let bytes = Self.bytes(40 + number, 9_000)
            try leader.store.put("short-\(number)", bytes)
            try leader.store.put("text-\(number)", [UInt8](repeating: 7, count: 30_000 + number))
            try leader.ship()
            if number == 1 { try leader.writeBase(all: false) }
        }
        let follower = try Member("two", seededFrom: objects)
        try follower.follow()
        for number in 0..<3 {
            try damage(Self.bytes(40 + number, 9_000), of: follower, at: 4_000)
        }
        try scrub(follower.store, heals: false)
        let damaged = follower.store.quarantinedBlobs
        #expect(damaged.count == 3 && damaged.allSatisfy(\.isAmongOthers))
        var found = 0
        try ShortBlobs.find(
            damaged.map(\.blob), in: follower.store.id, on: follower.bucket
        ) { blob, bytes in
            found += 1
            let outcome = try follower.store.putBack(blob, bytes)
            #expect(outcome == .stored)
        }
        #expect(found == 3 && follower.store.quarantinedBlobs == [])
        #expect(try follower.store.verify().problems == [])
        #expect(try follower.contents() == leader.contents())
    }

    /// Shipping stopped for good: each attempt failed at the damaged chunk, and publishing the bytes again did
    /// not help, since the batch named the old blob.
    @Test("What is damaged before it is shipped does not hold up the rest")
    func damagedUnshipped() throws {
        let leader = try leader(1)
        try leader.ship()
        let (long, short) = (Self.bytes(20), Self.bytes(21, 20_000))
        let gone = Self.bytes(22, 20_000)
        try leader.store.put("long", long)
        try leader.store.put("gone", gone)
        try leader.store.put("short", short)
        try leader.store.delete("gone", asOf: noon)
        try leader.store.put("sound", [1, 2, 3])
        try damage(long, of: leader)
        try damage(gone, of: leader, at: 9_000)
        try damage(short, of: leader, at: 9_000)
        var attempts = 0
        var position = HealingPosition()
        while attempts < 10, (try? leader.ship()) == nil {
            attempts += 1
            try leader.store.quarantineFound(asOf: noon)
            while try leader.store.heal(&position, asOf: noon) {}
        }
        #expect(attempts == 1)
        #expect(leader.store.unshippedByteCount == 0)
        let follower = try Member("two", seededFrom: objects)
        try follower.follow()
        try leader.writeBase(all: false)
        let other = try Member("three", seededFrom: objects, leavesBlobs: true)
        for member in [leader, follower, other] {
            #expect(try member.store.ownedPayload(for: "sound", asOf: noon) == [1, 2, 3])
            #expect(throws: StoreError.self) {
                try member.store.ownedPayload(for: "long", asOf: noon)
            }
            #expect(member.store.quarantinedBlobs.contains { $0.byteCount == long.count })
        }
        try leader.store.put("long again", long)
        try leader.store.put("short again", short)
        try leader.store.quarantineFound(asOf: noon)
        while try leader.store.heal(&position, asOf: noon) {}
        try leader.ship()
        for member in [leader, follower, other] {
            if member !== leader { try member.follow() }
            #expect(try member.store.ownedPayload(for: "long", asOf: noon) == long)
            #expect(try member.store.ownedPayload(for: "short", asOf: noon) == short)
            _ = try member.store.freeOrphans(byteCountMax: .max)
            try member.store.quarantineFound(asOf: noon)
            #expect(member.store.quarantinedBlobs == [])
            #expect(try member.store.verify().problems == [])
        }
    }

    private func advance(_ leader: Member) {
        leader.clock.advance(milliseconds: Int64(ReplicationLimits.seenBlobMilliseconds))
    }

    /// A publish of bytes that the leader has was acknowledged as replicated, while their object was gone for good: a
    /// follower that needed it stood still, and restores failed.
    @Test("What is published again is in the bucket again, whatever became of its object")
    func publishedAgain() throws {
        let leader = try leader(2)
        try leader.ship()
        let name = ShardNames.blob(try blob("id-0", of: leader.store))
        let object = try #require(objects[name])
        var damaged = object
        damaged[1_000] ^= 1
        let cases: [[UInt8]?] = [nil, damaged, Array(object.dropLast(9)), object + [1, 2, 3]]
        for (number, found) in cases.enumerated() {
            objects[name] = found
            advance(leader)
            if number % 2 == 0 {
                try leader.store.put("again-\(number)", Self.bytes(0))
            } else {
                var writer = leader.store.makePayloadWriter()
                try writer.append(Self.bytes(0).span.bytes)
                let payload = try writer.finish(mediaType: "image/png")
                let hold = BlobHold(payload, seconds: 60 + Int64(number))
                _ = try leader.store.apply([.hold(hold)], asOf: noon)
            }
            try leader.ship()
            let isWhole = objects[name] == object
            #expect(isWhole, "case \(number)")
        }
        // What is gone here, too, does not hold up anything: there is nobody to ask.
        objects[name] = nil
        advance(leader)
        try leader.store.put("last", Self.bytes(0))
        try damage(Self.bytes(0), of: leader)
        #expect(throws: StoreError.self) { try leader.ship() }
        try leader.store.makeScrubber().checkSuspects()
        var position = HealingPosition()
        try leader.store.quarantineFound(asOf: noon)
        while try leader.store.heal(&position, asOf: noon) {}
        try leader.ship()
        #expect(objects.count(name) == 0)
    }

    @Test("A payload of many notifications is put once, and read once in ten minutes at the most")
    func requests() throws {
        let leader = try leader(1)
        try leader.ship()
        let bucket = leader.bucket
        func requests(_ body: () throws -> Void) throws -> [Int] {
            let before = bucket.counts
            try body()
            try leader.ship()
            let operations: [MemoryBucket.Operation] = [.create, .put, .get, .list, .delete]
            return operations.map { bucket.counts[$0, default: 0] - before[$0, default: 0] }
        }
        let store = leader.store
        for round in 0..<3 {
            let news = try requests { try store.put("new-\(round)", Self.bytes(10 + round)) }
            #expect(news == [1, 1, 0, 0, 0])
            for number in 0..<20 {
                let again = try requests {
                    try store.put("\(round)-\(number)", Self.bytes(10 + round))
                }
                #expect(again == [1, 0, 0, 0, 0])
            }
            advance(leader)
            let later = try requests {
                for number in 0..<20 { try store.put("later-\(number)", Self.bytes(10 + round)) }
            }
            #expect(later == [1, 0, 1, 0, 0])
            advance(leader)
            let deletions = try requests {
                for number in 0..<20 { try store.delete("\(round)-\(number)", asOf: noon) }
            }
            #expect(deletions == [1, 0, 0, 0, 0])
        }
    }

    @Test("A segment waits for no more payloads that are used again than for new ones")
    func manyUsedAgain() throws {
        let leader = try leader(0)
        let count = 24
        let size = 1 << 20
        for number in 0..<count { try leader.store.put("id-\(number)", Self.bytes(number, size)) }
        try leader.ship()
        advance(leader)
        for number in 0..<count { try leader.store.put("x-\(number)", Self.bytes(number, size)) }
        let before = leader.bucket.counts
        let step = try leader.shipper?.step(
            on: leader.bucket, asOf: leader.clock.now, appendsEmpty: false)
        guard case .shipped(_, let batchCount, _) = step else {
            throw TestFailure("\(step as Any)")
        }
        #expect(batchCount == ReplicationLimits.segmentByteCount / size - 1)
        #expect(leader.bucket.counts[.get, default: 0] == batchCount + before[.get, default: 0])
        try leader.ship()
        #expect(leader.bucket.counts[.get, default: 0] == count + before[.get, default: 0])
    }

    // Nobody published it again, and no follower could begin.
    @Test("What the bucket has lost is in it again after the next base")
    func lostObjects() throws {
        let leader = try leader(20)
        try leader.ship()
        let names = try (0..<20).map { ShardNames.blob(try blob("id-\($0)", of: leader.store)) }
        let whole = objects.all
        for number in [0, 7, 8, 15, 19] { objects[names[number]] = nil }
        // Neither these: the last has gone here, too.
        try leader.store.delete("id-15", asOf: noon)
        try leader.evict([try blob("id-8", of: leader.store).number])
        try leader.store.put("young", Self.bytes(30))
        #expect(throws: (any Error).self) { try Member("two", seededFrom: objects).follow() }
        leader.clock.advance(milliseconds: leader.schedule.intervalMilliseconds)
        let steps = try leader.maintain()
        let lost = try blob("id-8", of: leader.store).digest
        #expect(steps.contains(.restoredBlobs(3, lost: [lost])), "\(steps)")
        for number in [0, 7, 8, 15, 19] {
            let isWhole = objects[names[number]] == whole[names[number]]
            #expect(isWhole == (number != 8 && number != 15), "id-\(number)")
        }
        leader.clock.advance(milliseconds: leader.schedule.intervalMilliseconds)
        #expect(try leader.maintain().contains(.restoredBlobs(0, lost: [lost])))
    }

    @Test("States are exclusive: what no blob becomes is refused, and verify names what is not so")
    func exclusive() throws {
        typealias State = BlobStateEntry.State
        let all: [State?] = [nil, .released, .staged, .inBucket, .damaged]
        var refused = 0
        for old in all {
            for new in all where !State.allows(old, new) { refused += 1 }
            #expect(State.allows(nil, old) && State.allows(old, nil))
        }
        #expect(refused == 12)
        #expect(!State.allows(.released, .inBucket) && !State.allows(.released, .staged))
        #expect(!State.allows(.inBucket, .damaged) && !State.allows(.damaged, .inBucket))

        let leader = try leader(2)
        try leader.ship()
        let store = leader.store
        let (first, second) = (try blob("id-0", of: store), try blob("id-1", of: store))
        #expect(try leader.evict([first.number]) == 1)
        func put(_ entry: BlobStateEntry, _ number: UInt64) throws {
            try store.pipeline.change(isPublishing: false) { (transaction) throws(StoreError) in
                let key = Keys.state(number, entry.state.queue)
                let value = entry.words(number: number)
                try transaction.transaction.set(
                    key.span.bytes, to: value.span.bytes, in: store.core.tables.orphans)
            }
        }
        try put(BlobStateEntry(damaged: first, foundAt: noon), first.number)
        try put(
            BlobStateEntry(
                digest: second.digest, transaction: 1, storedByteCount: second.storedByteCount,
                state: .released), second.number)
        try put(BlobStateEntry(inBucket: 5), 1 << 40)
        let problems = try store.verify().problems
        #expect(problems.contains("blob \(first.number) is both in the bucket and damaged"))
        #expect(problems.contains("blob \(second.number) is both stored and an orphan"))
        #expect(problems.contains { $0.hasPrefix("blob \(1 << 40) is inBucket, and is not") })
    }
}
