import BlobStore
import FeedModel
import Replication
import TestSupport
import Testing

/// A follower has what its leader has, whatever was done.
@Suite struct FollowingTests {
    @Test("A follower has all that its leader has", arguments: 0..<3)
    func model(number: Int) throws {
        let seed = testSeed(7)
        print("following: seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        var model = FeedModel(seed: seed)
        let objects = MemoryObjects()
        let leader = try Member("one", objects)
        try model.run(40, in: leader.store)
        try leader.begin()
        try leader.writeBase()
        let follower = try Member("two", seededFrom: objects)
        #expect(try follower.contents() == leader.contents())
        do {
            for round in 0..<12 {
                try model.run(60, in: leader.store)
                if round == 5 {
                    try leader.reopen()
                    try leader.resume()
                }
                if generator.chance(70) { try leader.ship() }
                if generator.chance(30) { try leader.store.saveShipped() }
                if generator.chance(50) { try follower.follow() }
                _ = try follower.store.freeOrphans(byteCountMax: 1 << 20)
            }
            try leader.ship()
            try follower.follow()
            #expect(try follower.contents() == leader.contents(), "seed \(seed)")
            #expect(try follower.store.verify().problems == [])
            #expect(try leader.store.verify().problems == [])
            #expect(follower.store.lastSequence == leader.store.lastSequence)
            #expect(leader.store.unshippedByteCount == 0)
        } catch {
            Issue.record("seed \(seed): \(error)")
        }
    }

    @Test("Long payloads come as objects, before and after they are gone")
    func longPayloads() throws {
        let objects = MemoryObjects()
        let leader = try Member("one", objects)
        try leader.store.put("old", SeededGenerator.bytes(300_000, seed: 1))
        try leader.begin()
        try leader.writeBase()
        let follower = try Member("two", seededFrom: objects)
        try leader.store.put("a", SeededGenerator.bytes(100_000, seed: 2))
        try leader.store.put("b", SeededGenerator.bytes(20 << 20, seed: 3))
        try leader.store.put("c", SeededGenerator.bytes(500, seed: 4))
        // They go before they are shipped, and are shipped all the same.
        try leader.store.delete("a", asOf: noon)
        try leader.store.delete("c", asOf: noon)
        _ = try leader.store.freeOrphans(byteCountMax: 1 << 30)
        #expect(try leader.store.verify().problems == [])
        leader.savesShipped = false
        try leader.ship()
        try follower.follow()
        #expect(try follower.contents() == leader.contents())
        #expect(try follower.store.verify().problems == [])
        #expect(objects.names.filter { $0.hasPrefix("blob/") }.count == 3)
        // A crash may ship them again until the file says that they are shipped.
        _ = try leader.store.freeOrphans(byteCountMax: 1 << 30)
        #expect(try leader.store.statistics().orphanBlobs > 0)
        try leader.store.saveShipped()
        _ = try leader.store.freeOrphans(byteCountMax: 1 << 30)
        _ = try follower.store.freeOrphans(byteCountMax: 1 << 30)
        #expect(try leader.store.statistics().orphanBlobs == 0)
        #expect(try follower.store.statistics().orphanBlobs == 0)
        #expect(try follower.contents() == leader.contents())
    }

    @Test("A new leader's history goes on behind a gap, and the old leader is told")
    func takeOver() throws {
        let objects = MemoryObjects()
        let old = try Member("old", objects)
        try old.begin()
        try old.writeBase()
        let new = try Member("new", seededFrom: objects)
        let third = try Member("third", seededFrom: objects)
        try old.store.put("a", [1])
        try old.ship()
        try old.store.put("lost", [2])
        guard case .leads(let writer) = try new.takeOver() else {
            Issue.record("no lead")
            return
        }
        #expect(writer.epoch == 2)
        try new.store.put("b", [3])
        try new.ship()
        #expect(
            try old.shipper?.step(on: old.bucket, asOf: noon, appendsEmpty: true)
                == .deposed(epoch: 2))
        try third.follow()
        #expect(try third.contents() == new.contents())
        #expect(try third.store.record(for: "lost", asOf: noon) == nil)
        #expect(try third.store.record(for: "a", asOf: noon) != nil)
        let revision = try #require(try third.store.record(for: "b", asOf: noon)).revision
        let lost = try #require(try old.store.record(for: "lost", asOf: noon)).revision
        #expect(revision > lost + (1 << 31))
        guard case .leads(let later) = try third.takeOver() else {
            Issue.record("no lead")
            return
        }
        #expect(later.epoch == 3)
    }

    @Test("Where a fence is deleted, the leader before goes on: so fences stay")
    func deletedFence() throws {
        let objects = MemoryObjects()
        let old = try Member("old", objects)
        try old.begin()
        try old.writeBase()
        let new = try Member("new", seededFrom: objects)
        guard case .leads(let writer) = try new.takeOver() else {
            Issue.record("no lead")
            return
        }
        objects[ShardNames.log(writer.position.number)] = nil
        try old.store.put("zombie", [1])
        let step = try old.shipper?.step(on: old.bucket, asOf: noon, appendsEmpty: false)
        guard case .shipped = step else {
            Issue.record("without the fence the old leader must be able to go on: \(step as Any)")
            return
        }
    }
}
