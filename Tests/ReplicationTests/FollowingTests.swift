import BlobStore
import FeedModel
import Replication
import TestSupport
import Testing

/// A follower has what its leader has, whatever was done.
@Suite struct FollowingTests {
    @Test("A follower has all that its leader has", arguments: 0..<2)
    func model(number: Int) throws {
        let seed = testSeed(UInt64(7 + number))
        print("following: seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        var model = FeedModel(seed: seed, hasQuotas: number == 1)
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
}
