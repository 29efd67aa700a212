import BlobStore
import TestSupport
import Testing

@testable import Replication

/// A loss is said, and nothing of it is acknowledged as replicated.
@Suite struct KnownLossTests {
    private let objects = MemoryObjects()

    private func leader() throws -> ReplicaUnderTest {
        let host = ReplicaUnderTest("a", objects)
        try host.start()
        try host.lead()
        try host.writeBase()
        return host
    }

    // It was acknowledged as replicated, and no host had the bytes.
    @Test("A publish that refers to bytes that nobody has is not acknowledged as replicated")
    func lostPayload() throws {
        let a = try leader()
        let payload = [UInt8](repeating: 7, count: 300_000)
        let blob = try a.store.put("first", payload).parts[0].blob
        try a.lead()
        try a.store.saveShipped()
        let found = try a.store.evictableBlobs(from: 0, byteCountMax: .max, lookingAt: .max).blobs
        #expect(try a.store.beginEvicting(found, bootMilliseconds: nil) == 1)
        while try a.store.advanceEviction() == .continues {}
        objects[ShardNames.blob(blob)] = nil
        // Later than it remembers its upload; and again, at once.
        a.uptime += Int64(ReplicationLimits.seenBlobMilliseconds) + 1_000
        for round in 1...2 {
            var draft = NotificationDraft(
                id: "again-\(round)", expiry: .at(noon.adding(seconds: 3_600)))
            draft.parts = [
                DraftPart(
                    name: "p", mediaType: "image/png", content: .stored(blob.digest))
            ]
            let outcomes = try a.store.apply([.publishNotification(draft)], asOf: noon)
            guard case .published = outcomes[0] else { throw TestFailure("\(outcomes)") }
            try a.lead()
            #expect(a.failedWaiters.count == round)
        }
        #expect(a.failedWaiters.last?.contains("\(blob.digest)") == true)
        #expect(a.lines.contains { $0.contains("\(blob.digest)") })
        // Other changes are.
        try a.store.put("other", [1])
        a.hasWaiters = true
        try a.lead()
        #expect(a.failedWaiters.count == 2)
        #expect(a.completed == a.store.lastSequence)
    }

    // It was known to have a base for as long as it led.
    @Test("Nothing is acknowledged as replicated when the bases are gone, and one is made again")
    func lostBases() throws {
        let a = try leader()
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

    @Test("Bases that are gone are made again within ten minutes")
    func basesAgain() throws {
        let clock = TestClock()
        let leader = try Member("leader", objects, clock: clock)
        leader.appendsForBases = true
        try leader.begin()
        try leader.ship()
        try leader.maintain()
        for name in objects.names where name.hasPrefix(ShardNames.basePrefix) {
            objects[name] = nil
        }
        clock.advance(milliseconds: ReplicationLimits.lostBaseLookMilliseconds)
        try leader.maintain()
        #expect(try BaseManifest.numbers(on: leader.bucket).count == 1)
    }
}
