import Glibc
import TestSupport

/// Kills the leader of a shard with its folder, again and again, and looks whether what it acknowledged as
/// replicated is there on the follower that takes the lead.
struct FailoverScenario: ShardScenario {
    static let about = About(
        "failover", "The leader of a shard is killed and its folder deleted, under publishers.",
        """
        Two daemons share a bucket. Again and again the leader is killed under publishers who wait for the bucket, and
        one who does not; its folder is deleted; the follower is promoted. Every change that was acknowledged as
        replicated since the last time must be there, one in eight of the older ones too. What is lost of the others
        is counted. Then a new follower begins.
        """)

    @Setting(20, short: 1, "How many rounds, each with a shard of its own.") var rounds: Int
    @Setting(10, short: 3, "How often a leader is killed in each.") var failovers: Int
    @Setting(16, "How many publish at the same time.") var publishers: Int
    @Setting(2_000, short: 20_000, "The greatest age of a local change that may be lost, in ms.")
    var lossMillisecondsMax: Int

    func play(_ round: inout Round) throws -> String {
        // Leaders live for seconds. Without bases of their own, each follower would read the log from its beginning.
        let arguments = ["--base-interval", "60s"]
        let crowd = round.crowd("p", publishers, bytes: 100...150_000) {
            ($0.idCount, $0.persists) = (20, false)
        }
        var (checked, lost, loss, promotion, played) = (0, 0, 0, 0, 0)
        var names = ["a", "b"]
        var leader = try round.serve(names[0], "--replicate", arguments)
        for turn in 1...failovers {
            let follower = try round.serve(names[1], "--follow", arguments)
            try settle([leader, follower], withinSeconds: 120, "with a new follower")
            let (begin, stop, socket) = (Clock.milliseconds(), StopSign(), leader.socket)
            let threads = try Publisher.start(
                crowd, at: [socket], seed: round.seed, round: turn, until: stop)
            let local = round.paced("local-\(turn)-", every: 1_000) { $0.persists = false }
            let localThread = try round.start(local, at: [leader], until: stop)
            let most = round.isShort ? 1_200_000 : 2_500_000
            Clock.pause(microseconds: Int.random(in: 200_000...most, using: &round.generator))
            let wasRunning = leader.isRunning
            leader.kill()
            let killedAt = Clock.nanoseconds()
            played += Clock.milliseconds() - begin
            stop.putUp()
            try threads.join()
            try localThread.join()
            try require(wasRunning, "the leader ended by itself")
            Files.remove(leader.bench.data)
            let promotedAt = Clock.milliseconds()
            try follower.promote(isForced: true)
            promotion = max(promotion, Clock.milliseconds() - promotedAt)
            checked += try Publisher.check(
                crowd, at: [follower.socket], round: turn, sampling: 8, "failover \(turn)")
            let missing = try local[0].missing(at: follower.socket, since: killedAt)
            lost += missing.count
            loss = max(loss, missing.milliseconds)
            try require(
                loss <= lossMillisecondsMax,
                "a local change was lost \(loss) ms after it was acknowledged")
            names.swapAt(0, 1)
            leader = follower
        }
        try leader.verifyStopped()
        let acknowledged = Publisher.acknowledgedCount(crowd)
        return
            "\(failovers) failovers, \(acknowledged) changes acknowledged as replicated, \(acknowledged * 1_000 / max(1, played)) a second, \(checked) compared, \(lost) local ones lost, the oldest \(loss) ms old; longest promotion \(promotion) ms"
    }
}
