import BlobStore
import TestSupport
import Testing

@testable import Replication

/// A loss is said, and nothing of it is acknowledged as replicated.
@Suite struct KnownLossTests {
    private let objects = MemoryObjects()

    /// A leader, and a payload of its that neither it nor the bucket has, later than it remembers the upload.
    private func leaderAndLost() throws -> (ReplicaUnderTest, BlobReference, object: [UInt8]?) {
        let a = try ReplicaUnderTest.leader(objects)
        let payload = [UInt8](repeating: 7, count: 300_000)
        let blob = try a.store.put("first", payload).parts[0].blob
        try a.lead()
        try a.store.saveShipped()
        let found = try a.store.evictableBlobs(from: 0, byteCountMax: .max, lookingAt: .max).blobs
        #expect(try a.store.beginEvicting(found, bootMilliseconds: nil) == 1)
        while try a.store.advanceEviction() == .continues {}
        let object = objects[ShardNames.blob(blob)]
        objects[ShardNames.blob(blob)] = nil
        a.uptime += Int64(ReplicationLimits.seenBlobMilliseconds) + 1_000
        return (a, blob, object)
    }

    /// Publishes what refers to a payload by its digest.
    private func publish(_ id: String, with blob: BlobReference, in store: BlobStore) throws {
        var draft = NotificationDraft(id: id, expiry: .at(noon.adding(seconds: 3_600)))
        draft.parts = [
            DraftPart(name: "p", mediaType: "image/png", content: .stored(blob.digest))
        ]
        let outcomes = try store.apply([.publishNotification(draft)], asOf: noon)
        guard case .published = outcomes[0] else { throw TestFailure("\(outcomes)") }
    }

    // It was acknowledged as replicated, and no host had the bytes.
    @Test("A publish that refers to bytes that nobody has is not acknowledged as replicated")
    func lostPayload() throws {
        let (a, blob, _) = try leaderAndLost()
        // And again, at once.
        for round in 1...2 {
            try publish("again-\(round)", with: blob, in: a.store)
            try a.lead()
            #expect(a.failedWaiters.count == round)
        }
        #expect(a.failedWaiters.last?.contains("\(blob.digest)") == true)
        #expect(a.lines.contains { $0.contains("\(blob.digest)") })
        #expect(a.refusedSequences == [a.store.lastSequence - 1, a.store.lastSequence])
        // Other changes are.
        try a.store.put("other", [1])
        a.hasWaiters = true
        try a.lead()
        #expect(a.failedWaiters.count == 2)
        #expect(a.completed == a.store.lastSequence)
    }

    // All that waited for the segment was refused.
    @Test("Of a segment only the batches are refused that refer to lost bytes")
    func lostAmongOthers() throws {
        let (a, blob, _) = try leaderAndLost()
        let last = a.store.lastSequence
        try a.store.put("before", [1])
        for number in 1...2 {
            try publish("again-\(number)", with: blob, in: a.store)
            try a.store.put("between-\(number)", [1])
        }
        try a.lead()
        #expect(a.refusedSequences == [last + 2, last + 4])
    }

    // It was said to be lost, and the client was refused.
    @Test("A payload that may not be read is not lost")
    func refusedRead() throws {
        let (a, blob, object) = try leaderAndLost()
        objects[ShardNames.blob(blob)] = object
        a.bucket.onRequest = { (operation, name) throws(ReplicationError) in
            guard operation == .get, name.hasPrefix(ShardNames.blobPrefix) else { return }
            throw .bucket("403 AccessDenied", isLasting: true)
        }
        #expect(throws: ReplicationError.bucket("403 AccessDenied", isLasting: true)) {
            try LongBlobs.restore([blob], of: a.store, on: a.bucket)
        }
        a.bucket.onRequest = { _, _ in }
        #expect(try LongBlobs.restore([blob], of: a.store, on: a.bucket).lost.isEmpty)
    }

    // One answer was enough.
    @Test("A payload is lost when the bucket was asked for it several times")
    func looksAgain() throws {
        let (a, blob, object) = try leaderAndLost()
        let name = ShardNames.blob(blob)
        var lookCount = 0
        a.bucket.onRequest = { (operation, asked) in
            guard operation == .get, asked == name else { return }
            lookCount += 1
            if lookCount == ReplicationLimits.lostPayloadLookCount { objects[name] = object }
        }
        #expect(try LongBlobs.restore([blob], of: a.store, on: a.bucket).lost.isEmpty)
        #expect(lookCount == ReplicationLimits.lostPayloadLookCount)
        objects[name] = nil
        #expect(try LongBlobs.restore([blob], of: a.store, on: a.bucket).lost == [blob])
    }

    // It was known to have a base for as long as it led.
    @Test("Nothing is acknowledged as replicated when the bases are gone, and one is made again")
    func lostBases() throws {
        let a = try ReplicaUnderTest.leader(objects)
        a.hasWaiters = true
        try a.store.put("first", [1])
        try a.lead()
        try a.step()
        #expect(a.completed == a.store.lastSequence)
        for name in objects.names where name.hasPrefix(ShardNames.basePrefix) {
            objects[name] = nil
        }
        a.uptime += ReplicationLimits.lostBaseLookMilliseconds
        try a.store.put("second", [2])
        try a.lead()
        try a.step()
        #expect(a.completed == 0)
        try a.writeBase()
        a.uptime += ReplicationLimits.baseLookMilliseconds
        try a.store.put("third", [3])
        try a.lead()
        try a.step()
        #expect(a.completed == a.store.lastSequence)
    }

    /// A leader with its first base.
    private func leaderWithBase() throws -> Member {
        let leader = try Member("leader", objects)
        leader.appendsForBases = true
        try leader.beginWithBase()
        return leader
    }

    @Test("Bases that are gone are made again within ten minutes")
    func basesAgain() throws {
        let leader = try leaderWithBase()
        for name in objects.names where name.hasPrefix(ShardNames.basePrefix) {
            objects[name] = nil
        }
        leader.clock.advance(milliseconds: ReplicationLimits.lostBaseLookMilliseconds)
        try leader.maintain()
        #expect(try BaseManifest.numbers(on: leader.bucket).count == 1)
    }

    // A new host was told that there was no shard.
    @Test("store.json is made again within ten minutes")
    func storeAgain() throws {
        let leader = try leaderWithBase()
        let document = objects[ShardNames.store]
        objects[ShardNames.store] = nil
        leader.clock.advance(milliseconds: ReplicationLimits.lostBaseLookMilliseconds)
        try leader.maintain()
        #expect(document != nil && objects[ShardNames.store] == document)
    }

    // Every host of the shard that was started then said "start with its original prefix", for ever.
    @Test("A host that is started makes store.json again", arguments: [false, true])
    func storeAgainAtStart(isSegmentGone: Bool) throws {
        let a = ReplicaUnderTest("a", objects)
        try a.start()
        try a.lead()
        let b = try a.follower("b")
        let document = objects[ShardNames.store]
        objects[ShardNames.store] = nil
        if isSegmentGone {
            // A base tells, too.
            let position = try #require(a.store.replicationState?.position)
            objects[ShardNames.log(position.number)]?.removeLast()
        }
        // A host with another store does not take its place.
        let other = ReplicaUnderTest("other", objects)
        var why = ""
        do { try other.start() } catch { why = "\(error)" }
        #expect(why.contains("contains a log, but no store.json"), "\(why)")
        #expect(objects[ShardNames.store] == nil)
        b.kill()
        try b.start()
        try b.step()
        #expect(document != nil && objects[ShardNames.store] == document)
    }

    @Test("A store.json of another store is named")
    func foreignStore() throws {
        let leader = try leaderWithBase()
        let other = String(repeating: "0", count: leader.store.id.description.utf8.count)
        objects[ShardNames.store] = StoreDocument(storeID: other).bytes
        leader.clock.advance(milliseconds: ReplicationLimits.lostBaseLookMilliseconds)
        _ = try? leader.maintain()
        #expect(leader.maintenance?.problem?.contains(other) == true)
        #expect(objects[ShardNames.store] == StoreDocument(storeID: other).bytes)
    }
}
