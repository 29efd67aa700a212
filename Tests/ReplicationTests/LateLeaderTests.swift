import BlobStore
import Replication
import TestSupport
import Testing

/// A leader that was paused for however long, in whatever step, deletes and overwrites nothing that is needed.
@Suite struct LateLeaderTests {
    private static let schedule = BaseSchedule(
        intervalMilliseconds: 600_000, retentionMilliseconds: 600_000)

    /// A leader with much to delete, and what it has in the bucket.
    private static func history() throws -> TestHistory {
        let history = try TestHistory(seed: 5, schedule: schedule)
        try history.run(60, stepSeconds: 30)
        history.clock.advance(milliseconds: 1_000_000)
        try history.change(history.leader.store)
        try history.leader.ship()
        return history
    }

    @Test("A collector wakes up behind another leader's base and collection")
    func collector() throws {
        // Paused before every third of its requests, and before each in a campaign, until a run ends before that.
        for pause in stride(from: 0, to: 200, by: testRounds(1) > 1 ? 1 : 3) {
            let history = try Self.history()
            let (objects, clock) = (history.objects, history.clock)
            let old = history.leader
            let new = try Member("new", seededFrom: objects, clock: clock)
            new.schedule = Self.schedule
            try new.follow()
            let index = pause
            var isPaused = false
            var failure: (any Error)?
            let first = old.upkeep.requestCount
            old.upkeep.onRequest = { [unowned old] _, _ in
                guard old.upkeep.requestCount == first + index, !isPaused else { return }
                isPaused = true
                do { try Self.succeed(new, history) } catch { failure = error }
            }
            do {
                try old.maintain()
                // Segments stay a while longer.
                clock.advance(milliseconds: ReplicationLimits.collectGraceMilliseconds)
                try old.maintain()
            } catch ReplicationError.deposed {} catch is TestFailure {}
            old.upkeep.onRequest = { _, _ in }
            if let failure { throw failure }
            guard isPaused else {
                #expect(pause >= 60, "a collection has only \(pause) requests")
                return
            }
            // Whatever it does next, too.
            #expect(throws: (any Error).self, "pause \(index)") {
                for _ in 0..<4 {
                    clock.advance(milliseconds: ReplicationLimits.collectMilliseconds)
                    try old.maintain()
                }
            }
            let bases = try BaseManifest.numbers(on: new.bucket)
            for manifest in try #require(new.maintenance).bases {
                let number = manifest.position.number
                let place = try #require(bases.lastIndex(of: number))
                let follower = try Member(
                    "follower", seededFrom: objects, base: bases.count - 1 - place)
                try follower.follow()
                #expect(
                    try follower.contents() == new.contents(), "pause \(index), base \(number)")
                #expect(follower.store.lastSequence == new.store.lastSequence)
            }
            let folder = TemporaryFolder()
            let restored = try Restorer(.end, asOf: noon).restore(
                to: folder.path, from: new.bucket)
            #expect(restored.sequence == new.store.lastSequence)
            // A manifest that comes behind the fence is of a base that nobody keeps.
            clock.advance(milliseconds: ReplicationLimits.collectMilliseconds)
            try new.maintain()
            #expect(
                try BaseManifest.numbers(on: new.bucket)
                    == new.maintenance?.bases.map(\.position.number))
        }
        Issue.record("no end of requests")
    }

    /// Takes over, publishes the same contents again, makes bases, and collects everything that may be collected.
    private static func succeed(_ new: Member, _ history: TestHistory) throws {
        try new.follow()
        guard case .leads = try new.takeOver() else { throw TestFailure("no lead") }
        for _ in 0..<3 {
            for _ in 0..<20 { try history.change(new.store) }
            try new.ship()
            history.clock.advance(milliseconds: 700_000)
            try new.maintain()
        }
        try new.ship()
    }
}
