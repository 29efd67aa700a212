import BlobClient
import Glibc
import TestSupport

/// The bucket does not answer for a while, and slowly after that.
struct BucketAwayScenario: ShardScenario {
    static let about = About(
        "bucket-away",
        "The bucket of a shard is away, then slow: publishers, the cap, the lag, the follower.",
        """
        The server's process is stopped (SIGSTOP) under publishers who do not wait for it. Their publishes must not
        take longer than before, until --max-unreplicated is reached: then they are refused with 503 unreplicated,
        fetches continue, and the lag that is told grows. Then the server continues, and a proxy makes each of its
        answers late: publishes take as long as before, none is refused, and the follower comes after. In the end it
        has every change.
        """)

    @Setting(1, "How many rounds.") var rounds: Int
    @Setting(600, short: 5, "How long the bucket is away, in seconds.") var seconds: Int
    @Setting(5_000, short: 300, "How late its answers are after that, in milliseconds.")
    var slowMilliseconds: Int
    @Setting(60, "--max-unreplicated, in seconds, at most two thirds of the time away.") var cap:
        Int

    /// In seconds.
    private var capSeconds: Int { max(2, min(cap, seconds * 2 / 3)) }

    func play(_ round: inout Round) throws -> String {
        // How long times are measured, in milliseconds.
        let stretch = round.isShort ? 2_000 : 30_000
        let slow = slowMilliseconds
        let server = round.shard.server
        let proxy = try FaultyProxy(to: server.port)
        let leader = try round.serve(
            "leader", "--replicate", through: proxy, ["--max-unreplicated", "\(capSeconds)s"])
        let follower = try round.serve("follower", "--follow", through: proxy)
        let publisher = round.paced("paced", every: 2_000)[0]
        let before = try publisher.work(at: leader.socket, milliseconds: stretch)
        try require(before.refused == 0, "publishes are refused while the bucket is there")
        try settle([leader, follower], withinSeconds: 120, "before the bucket is away")

        server.pause()
        defer { server.resume() }
        let gone = Clock.milliseconds()
        // Others measure for as long as the cap lets them.
        let during = try publisher.work(
            at: leader.socket, milliseconds: min(stretch, capSeconds * 1_000 / 2))
        try require(during.refused == 0, "\(during.refused) publishes were refused below the cap")
        let capAfter = try waitForCap(publisher, leader, since: gone)
        let lags = try watchLags(leader, follower, since: gone)
        var reading = try leader.connect()
        _ = try reading.get("paced0-new-1")

        proxy.set(.late(slow))
        server.resume()
        let back = Clock.milliseconds()
        try Clock.wait(
            milliseconds: 120_000 + 10 * slow, orThrow: "publishes are refused for good"
        ) { try publisher.work(at: leader.socket, milliseconds: 100).refused == 0 }
        let takenAfter = Clock.milliseconds() - back
        // Longer than the cap: what is on its way is never older, though something always is.
        let slowly = try publisher.work(
            at: leader.socket, milliseconds: max(stretch, capSeconds * 1_500))
        try require(
            slowly.refused == 0,
            "\(slowly.refused) publishes were refused with a bucket that is slow")
        var connection = try leader.connect()
        let slowLag = try connection.call(.replication).lagMilliseconds ?? 0
        // A segment is on its way, one waits, and there may be one more request for each.
        try require(
            slowLag < 4 * slow + 2_000,
            "the lag is \(slowLag) ms with answers that are \(slow) ms late")
        proxy.set(nil)
        try settle([leader, follower], withinSeconds: 240, "at the end")
        try Publisher.check([publisher], at: [follower.socket], "at the end")
        let after = try publisher.work(at: leader.socket, milliseconds: stretch)
        try leader.stop()
        try follower.stop()
        let usual = max(before.p99, after.p99)
        let words =
            "p99 of publishes \(before.p99) µs before, \(during.p99) µs while it was away, \(slowly.p99) µs with answers \(slow) ms late, \(after.p99) µs after"
        // In a short run at least none waits for a slow answer.
        let most = round.isShort ? max(20 * usual, slow * 900) : usual * 11 / 10
        try require(
            max(during.p99, slowly.p99) <= most, "publishes wait for the bucket: \(words)")
        return
            "away for \(seconds) s; \(words); refused from \(capAfter) ms on, the cap is \(capSeconds) s; lag then \(lags.leader) ms, of the follower \(lags.follower) ms; taken again \(takenAfter) ms after it was back, slowly; lag then \(slowLag) ms; \(publisher.acknowledgedCount) changes acknowledged, all on the follower"
    }

    /// Publishes until it is refused.
    ///
    /// - Returns: how long after the bucket had gone, in milliseconds.
    private func waitForCap(
        _ publisher: Publisher, _ leader: Host, since gone: Int
    ) throws -> Int {
        let end = gone + capSeconds * 1_000 + 10_000
        while try publisher.work(at: leader.socket, milliseconds: 50).refused == 0 {
            try require(Clock.milliseconds() < end, "nothing is refused beyond the cap")
        }
        let after = Clock.milliseconds() - gone
        try require(
            after >= capSeconds * 1_000 - 100,
            "the first publish was refused after \(after) ms, and the cap is \(capSeconds) s")
        return after
    }

    /// Looks at the lags until the time away is over: each must grow as the time goes on.
    private func watchLags(
        _ leader: Host, _ follower: Host, since gone: Int
    ) throws -> (leader: Int64, follower: Int64) {
        var first = try leader.connect()
        var second = try follower.connect()
        func lags() throws -> (leader: Int64, follower: Int64) {
            (
                try first.call(.replication).lagMilliseconds ?? 0,
                try second.call(.replication).lagMilliseconds ?? 0
            )
        }
        var last = try lags()
        while Clock.milliseconds() - gone < seconds * 1_000 {
            Clock.pause(microseconds: 500_000)
            let next = try lags()
            try require(
                next.leader >= last.leader + 400 && next.follower >= last.follower + 400,
                "in half a second the lag went from \(last) to \(next) ms")
            last = next
        }
        let passed = Int64(Clock.milliseconds() - gone)
        try require(
            last.leader > passed - 2_000 && last.follower > passed - 2_000,
            "the bucket is away for \(passed) ms, and the lag is \(last) ms")
        return last
    }
}
