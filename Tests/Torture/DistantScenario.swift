import BlobClient
import Glibc
import TestSupport

/// A follower that is far from the bucket, whose leader is near.
struct DistantScenario: ShardScenario {
    static let about = About(
        "distant", "A follower whose requests take long keeps up, catches up, and takes the lead.",
        """
        The leader is beside the bucket, under publishers who wait for it; each request of the follower is late. It must
        stay near the end of the log, make up for a pause, and take the lead by force while the leader writes on.
        """)

    @Setting(1, "How many rounds.") var rounds: Int
    @Setting(60, short: 3, "How long the follower is watched, in seconds.") var seconds: Int
    @Setting(25, "How late the follower's requests are, in milliseconds.") var lateMilliseconds: Int
    @Setting(25, short: 2, "How long the follower pauses, in seconds.") var pauseSeconds: Int
    @Setting(100, short: 1_000, "How many segments it may be behind.") var segmentsMax: Int
    @Setting(5, short: 60, "In how many seconds it must make up for the pause.") var catchUpSeconds:
        Int
    @Setting(10, short: 60, "In how many seconds it must lead.") var leadSeconds: Int
    @Setting(8, "How many publish at the same time.") var publishers: Int

    func play(_ round: inout Round) throws -> String {
        let line = try SlowLine(to: round.shard.server.port)
        line.set(lateMilliseconds: lateMilliseconds)
        let leader = try round.serve("leader", "--replicate")
        let follower = try round.serve(
            "follower", "--follow", prefix: ["env", "AWS_ENDPOINT_URL=\(line.url)"])
        try settle([leader, follower], withinSeconds: 60, "at the start")
        // Its start, with the probe of the bucket, is over when it has what comes now.
        try leader.put("first", [1], replicated: false)
        try settle([leader, follower], withinSeconds: 60, "after the first publish")
        let crowd = round.crowd("p", publishers, bytes: 200...2_000)
        let stop = StopSign()
        let threads = try round.start(crowd, at: [leader], until: stop)

        let first = leader.report?.segment ?? 0
        let begin = Clock.milliseconds()
        var distances: [Int] = []
        while Clock.milliseconds() - begin < seconds * 1_000 {
            Clock.pause(microseconds: 100_000)
            distances.append(try distance(leader, follower))
        }
        let segments = Int(leader.report?.segment ?? 0) - Int(first)
        let rate = segments * 1_000 / max(1, Clock.milliseconds() - begin)
        let most = distances.max() ?? 0
        try require(most <= segmentsMax, "it is \(most) segments behind, of \(rate) a second")

        follower.signal(SIGSTOP)
        Clock.pause(microseconds: pauseSeconds * 1_000_000)
        follower.signal(SIGCONT)
        let resumed = Clock.milliseconds()
        let behind = try distance(leader, follower)
        try Clock.wait(
            milliseconds: 120_000, orThrow: "it never makes up for the pause"
        ) { try distance(leader, follower) <= segmentsMax }
        let madeUp = Clock.milliseconds() - resumed

        let promotedAt = Clock.milliseconds()
        try follower.promote(isForced: true)
        let led = Clock.milliseconds() - promotedAt
        stop.putUp()
        try threads.join()
        // The leader before sets its own changes aside, and is made anew.
        try settle([leader, follower], withinSeconds: 120, "after the promotion")
        let checked = try Publisher.check(crowd, at: [follower.socket], "after the promotion")
        try require(follower.report?.role == "leader", "it does not lead in the end")
        let words =
            "\(rate) segments a second; \(percentile(50, of: distances)) behind in the middle, \(most) at the most; \(behind) after a pause of \(pauseSeconds) s, made up for in \(madeUp) ms; led after \(led) ms; \(checked) replicated changes compared"
        try require(madeUp <= catchUpSeconds * 1_000 && led <= leadSeconds * 1_000, words)
        return words
    }

    /// How many segments the follower is behind.
    private func distance(_ leader: Host, _ follower: Host) throws -> Int {
        // Asked first: what comes to the leader meanwhile is no delay.
        guard let end = leader.report?.segment else { throw TestFailure("the leader is away") }
        guard let position = follower.report?.segment else { return Int(end) }
        return max(0, Int(end - position))
    }
}
