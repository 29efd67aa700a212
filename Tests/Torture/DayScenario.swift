import BlobClient
import Glibc
import TestSupport

/// A log as long as a day has seconds, without a base.
struct DayScenario: ShardScenario {
    static let about = About(
        "day", "A log of a day is read by a follower, verified, and restored.",
        """
        A follower is stopped. The leader gets one publish after the other, each of which waits for the bucket, so that
        each is a segment, as with one a second for a day. Then the follower is started and must have everything within
        the time; the shard is verified and restored from the bucket, each within the same time.
        """)

    @Setting(1, "How many rounds.") var rounds: Int
    @Setting(86_400, short: 200, "How many segments.") var segments: Int
    @Setting(180, "How long each may take, in seconds.") var secondsMax: Int

    func play(_ round: inout Round) throws -> String {
        let arguments = ["--base-interval", "1d"]
        let leader = try round.serve("leader", "--replicate", arguments)
        let follower = try round.serve("follower", "--follow", arguments)
        try settle([leader, follower], withinSeconds: 60, "at the start")
        try follower.stop()
        let first = leader.report?.segment ?? 0
        let filling = Clock.milliseconds()
        let count = segments
        let crowd = round.crowd("day", 1, bytes: 200...2_000) {
            ($0.changesMax, $0.pipelineMax, $0.idCount) = (count, 1, 1_000)
        }
        try round.start(crowd, at: [leader], until: StopSign()).join()
        try settle([leader], withinSeconds: 60, "after a day")
        let filled = Clock.milliseconds() - filling
        let grown = Int((leader.report?.segment ?? 0) - first)
        try require(grown >= count * 9 / 10, "\(count) publishes made \(grown) segments only")

        let begin = Clock.milliseconds()
        try follower.start(withinMilliseconds: 600_000)
        try settle([leader, follower], withinSeconds: 1_800, "with the follower")
        let followed = Clock.milliseconds() - begin
        let compared = try Publisher.check(crowd, at: [follower.socket], "at the follower")
        let verified = try measure(round, ["restore", round.shard.url, "--verify-only"])
        let restored = try measure(
            round, ["restore", round.shard.url, "--data", "\(round.bench.folder)/restored"])
        try leader.stop()
        try follower.verifyStopped()
        let words =
            "\(grown) segments in \(filled / 1_000) s; followed in \(followed) ms, verified in \(verified) ms, restored in \(restored) ms; \(compared) notifications compared"
        try require(max(followed, verified, restored) <= secondsMax * 1_000, words)
        return words
    }

    /// How long a command takes, in milliseconds.
    private func measure(_ round: Round, _ arguments: [String]) throws -> Int {
        let begin = Clock.milliseconds()
        let end = try runToEnd([round.bench.blobd] + arguments, log: round.bench.log)
        try require(end == .exited(0), "\(arguments[0]) ended with \(end)")
        return Clock.milliseconds() - begin
    }
}
