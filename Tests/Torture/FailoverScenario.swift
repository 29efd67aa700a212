import ArgumentParser
import BlobClient
import Glibc
import TestSupport

/// Kills the leader of a shard with its folder, again and again, and looks whether what it acknowledged as
/// replicated is there on the follower that takes the lead.
struct FailoverScenario: Scenario {
    static let configuration = CommandConfiguration(
        commandName: "failover",
        abstract: "The leader of a shard is killed and its folder deleted, under publishers.",
        discussion: """
            Two daemons share a bucket (moto, or Ceph's RGW). In each round the leader is killed under \
            publishers who wait for the bucket, and one who does not; its folder is deleted; the follower is \
            promoted. Every change that was acknowledged as replicated in the round must be there, one in \
            eight of the older ones too. What is lost of the others is counted. Then a new follower begins.
            """)

    @OptionGroup var options: ScenarioOptions

    @Option(help: "How often the leader is killed. With --short: 3.")
    var rounds: Int?

    @Option(help: "How many publish at the same time.")
    var publishers = 16

    @Option(help: "The server: moto or rgw.")
    var server = "moto"

    @Option(
        help: """
            The greatest age of a local change that may be lost, in milliseconds. With --short: 20000.
            """)
    var lossMillisecondsMax: Int?

    var secondsMax: UInt32 { UInt32(clamping: 120 + roundCount * 30) }

    private var lossMax: Int { lossMillisecondsMax ?? (options.short ? 20_000 : 2_000) }
    private var roundCount: Int { rounds ?? (options.short ? 3 : 200) }

    func torture(_ bench: inout Workbench) throws -> [String] {
        let shard = try ShardUnderTest(server, "failover-\(bench.seed)")
        // Leaders live for seconds. Without bases of their own, each follower would read the log from its beginning.
        let arguments = ["--base-interval", "60s"]
        var plan = Publisher.Plan()
        plan.publisherCount = publishers
        plan.awaitsReplication = true
        plan.idCount = 20
        plan.byteCounts = 100...150_000
        let crowd = Publisher.crowd(plan, using: &bench.generator)
        var figures = Figures()
        var names = ["a", "b"]
        var leader = try shard.serve(names[0], "--replicate", bench, arguments: arguments)
        for round in 1...roundCount {
            var follower = try shard.serve(names[1], "--follow", bench, arguments: arguments)
            try settle([leader, follower], withinSeconds: 120, "with a new follower")
            let (lost, milliseconds) = try play(
                leader, crowd, round, bench.seed, &bench.generator)
            figures.playedMilliseconds += milliseconds
            Files.remove(bench.folder + "/" + names[0] + "/data")
            let begin = Clock.milliseconds()
            try follower.promote(isForced: true)
            figures.promotionMillisecondsMost = max(
                figures.promotionMillisecondsMost, Clock.milliseconds() - begin)
            figures.checked += try Publisher.check(
                crowd, at: [follower.socket], round: round, sampling: 8, "round \(round)")
            try figures.note(try lost(follower.socket), limit: lossMax)
            names.swapAt(0, 1)
            swap(&leader, &follower)
            if round % 10 == 0 { say("failover: round \(round), \(figures.words(crowd))") }
        }
        try leader.verifyStopped()
        return ["\(roundCount) rounds with \(server)", figures.words(crowd)]
    }

    private struct Figures {
        var checked = 0
        /// How long leaders had publishers.
        var playedMilliseconds = 0
        var promotionMillisecondsMost = 0
        var lostCount = 0
        var lossMillisecondsMost = 0

        mutating func note(_ missing: (count: Int, milliseconds: Int), limit: Int) throws {
            lostCount += missing.count
            lossMillisecondsMost = max(lossMillisecondsMost, missing.milliseconds)
            try require(
                missing.milliseconds <= limit,
                "a local change was lost \(missing.milliseconds) ms after it was acknowledged")
        }

        func words(_ crowd: [Publisher]) -> String {
            let acknowledged = crowd.reduce(0) { $0 + $1.acknowledgedCount }
            let rate = acknowledged * 1_000 / max(1, playedMilliseconds)
            return
                "\(acknowledged) changes acknowledged as replicated, \(rate) a second, \(checked) compared, \(lostCount) local ones lost, the oldest \(lossMillisecondsMost) ms old; longest promotion \(promotionMillisecondsMost) ms"
        }
    }

    /// Publishes, and kills the leader in the middle: after the milliseconds that are returned.
    private func play(
        _ leader: Host, _ crowd: [Publisher], _ round: Int, _ seed: UInt64,
        _ generator: inout SeededGenerator
    ) throws -> (lost: (String) throws -> (count: Int, milliseconds: Int), milliseconds: Int) {
        let begin = Clock.milliseconds()
        let (socket, stop) = (leader.socket, StopSign())
        let local = PacedPublisher("local-\(round)", every: 1_000)
        let threads = try Threads.start(crowd.count + 1) { index in
            if index == crowd.count {
                // It ends with the leader.
                _ = try? local.run(at: socket, milliseconds: 60_000, until: stop)
                return
            }
            try crowd[index].work(at: [socket], seed: seed, round: round, until: stop)
        }
        Clock.pause(
            microseconds: Int.random(
                in: 200_000...(options.short ? 1_200_000 : 2_500_000), using: &generator))
        let wasRunning = leader.isRunning
        leader.kill()
        let killedAt = Clock.nanoseconds()
        let milliseconds = Clock.milliseconds() - begin
        stop.putUp()
        try threads.join()
        try require(wasRunning, "the leader ended by itself in round \(round)")
        return ({ try local.missing(at: $0, since: killedAt) }, milliseconds)
    }
}
