import ArgumentParser
import Glibc
import Synchronization
import TestSupport

/// One fetch of a long payload by a follower fails, once.
///
/// What the failed attempt had staged was taken for garbage once the next attempt had stored the same
/// payloads: the follower freed bytes that were in use, and said that it had caught up.
struct FailedGetScenario: ShardScenario {
    static let configuration = CommandConfiguration(
        commandName: "failed-get",
        abstract: "One GET of a long payload by a follower fails, once.",
        discussion: """
            A follower is behind a proxy, which refuses everything while 48 long payloads are published. Then \
            it spoils the answer to one GET of a payload: 403, 500, a connection that is cut in the middle, \
            or 200 with nothing. In even rounds the follower is killed then, and started. It must catch up, \
            serve each payload right, be sound, and serve them all when it is promoted.
            """)
    static let usualRounds = 20

    @OptionGroup var options: ScenarioOptions
    @OptionGroup var shard: ShardOptions

    var roundSecondsMax: Int { 180 }

    /// What becomes of the one GET, by round.
    private static let faults: [(name: String, fault: FaultyProxy.Fault)] = [
        ("403", .answered([.error(403, "AccessDenied")])),
        ("500", .answered([.error(500, "InternalError")])),
        ("cut", .truncated),
        ("200 with nothing", .answered([.answer(200)])),
    ]

    func play(_ round: inout Round) throws -> String {
        let proxy = try FaultyProxy(to: round.shard.server.port)
        let leader = round.host("leader", "--replicate")
        let follower = round.host("follower", "--follow", through: proxy)
        try leader.start()
        try settle([leader], withinSeconds: 90, "at the start")
        try follower.start()
        // So much piles up for the follower that it does not hold all of it in memory.
        proxy.set(.answered([.reset]))
        var plan = Publisher.Plan()
        // Each waits for the bucket, so that the log has many segments.
        plan.publisherCount = 2
        plan.pipelineMax = 1
        plan.awaitsReplication = true
        plan.sharedPercent = 0
        plan.changesMax = 24
        plan.idCount = 1_000_000
        plan.byteCounts = 1_500_000...2_000_000
        plan.deletePercent = 0
        let crowd = Publisher.crowd(plan, using: &round.generator)
        try round.start(crowd, at: [leader.socket], until: StopSign()).join()
        try settle([leader], withinSeconds: 180, "before the failed GET")
        let (name, fault) = Self.faults[(round.number - 1) % Self.faults.count]
        // Mostly one behind others that were already written.
        let wanted = Int.random(
            in: round.generator.chance(80) ? 31...47 : 1...30, using: &round.generator)
        let (asked, spoilt) = (CountOfCalls(), CountOfCalls())
        proxy.set { request in
            guard request.isForBlob, asked.next() == wanted else { return nil }
            _ = spoilt.next()
            return fault
        }
        if round.number % 2 == 0 {
            let isSpoilt = Clock.wait(milliseconds: 30_000) { spoilt.count > 0 }
            try require(isSpoilt, "the follower did not ask for \(wanted) payloads")
            // Until it has noted the failure; a kill before that is as good.
            Clock.pause(microseconds: Int.random(in: 0...200_000, using: &round.generator))
            follower.kill()
            try follower.start()
        }
        try settle([leader, follower], withinSeconds: 180, "after one failed GET (\(name))")
        try require(spoilt.count == 1, "no GET was spoilt")
        try Publisher.check(
            crowd, at: [leader.socket, follower.socket], "after one failed GET (\(name))")
        // What nobody adopted is swept; it must be nothing that is in use.
        let sweeps = Clock.wait(milliseconds: 10_000) { follower.orphanCount == 0 }
        try require(sweeps, "what the follower had staged is not swept")
        try Publisher.check(crowd, at: [follower.socket], "after the follower swept")
        try follower.verifyStopped()
        try follower.start()
        leader.kill()
        try follower.promote(isForced: true)
        try settle([follower], withinSeconds: 90, "after the promotion")
        let count = try Publisher.check(crowd, at: [follower.socket], "after the promotion")
        try follower.verifyStopped()
        return
            "GET \(wanted) answered \(name); \(count) payloads right on the follower, promoted too"
    }
}

/// Counts calls from several threads.
private final class CountOfCalls: Sendable {
    private let value = Atomic(0)

    var count: Int { value.load(ordering: .relaxed) }

    /// Counts one more, and returns how many they are.
    func next() -> Int { value.add(1, ordering: .relaxed).newValue }
}
