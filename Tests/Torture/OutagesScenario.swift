import BlobClient
import Glibc
import TestSupport

/// Whether `auto-promote` tells a bucket that is away, or busy, from a leader that is dead.
struct OutagesScenario: ShardScenario {
    static let about = About(
        "outages", "Outages and slow uploads that are longer than auto-promote; then dead leaders.",
        """
        A leader and a follower with --auto-promote share a bucket. Again and again it is away for both, then a payload
        is uploaded so slowly that it takes three times as long: the leader must lead on, as the same process, in the
        same epoch. Then the leader is killed, again and again: the follower must lead within --auto-promote and 5 s.
        Each dead leader comes back with an empty folder, as a follower.
        """)

    @Setting(1, "How many rounds.") var rounds: Int
    @Setting(20, short: 1, "How often the bucket is away.") var outages: Int
    @Setting(20, short: 1, "How many slow uploads.") var uploads: Int
    @Setting(20, short: 1, "How often a leader is killed.") var deaths: Int
    @Setting(10, "--auto-promote, in seconds.") var autoPromote: Int

    func play(_ round: inout Round) throws -> String {
        let line = try SlowLine(to: round.shard.server.port)
        let arguments = ["--auto-promote", "\(autoPromote)s"]
        let prefix = ["env", "AWS_ENDPOINT_URL=\(line.url)"]
        var leader = try round.serve("a", "--replicate", prefix: prefix, arguments)
        var follower = try round.serve("b", "--follow", prefix: prefix, arguments)
        try settle([leader, follower], withinSeconds: 60, "at the start")
        let epoch = leader.report?.epoch

        for turn in 1...outages {
            round.shard.server.pause()
            // Longer by a tenth to two thirds.
            let tenths = Int.random(in: 11...17, using: &round.generator)
            Clock.pause(microseconds: autoPromote * tenths * 100_000)
            round.shard.server.resume()
            try publish("outage-\(turn)", round.generator.bytes(1_000), at: leader, follower)
            try check(leader, follower, epoch, "after outage \(turn)")
        }

        var longest = 0
        for turn in 1...uploads {
            // A payload of eight MiB and all else on that line.
            line.set(bytesPerSecond: (8 << 20) / (3 * autoPromote))
            let begin = Clock.milliseconds()
            try publish("upload-\(turn)", round.generator.bytes(8 << 20), at: leader, follower)
            line.set(bytesPerSecond: 0)
            let took = Clock.milliseconds() - begin
            longest = max(longest, took)
            try require(
                took > 2_000 * autoPromote, "upload \(turn) took \(took) ms: it was not slow")
            try check(leader, follower, epoch, "after upload \(turn)")
        }

        var times: [Int] = []
        for turn in 1...deaths {
            leader.kill()
            let begin = Clock.milliseconds()
            try Clock.wait(
                milliseconds: (autoPromote + 60) * 1_000,
                orThrow: "nobody leads after death \(turn)"
            ) { follower.report?.role == "leader" }
            times.append(Clock.milliseconds() - begin)
            Files.remove(leader.bench.data)
            let back = try round.serve(leader.name, "--follow", prefix: prefix, arguments)
            (leader, follower) = (follower, back)
            try settle([leader, follower], withinSeconds: 60, "after death \(turn)")
        }
        try leader.verifyStopped()
        try follower.verifyStopped()
        let words =
            "\(outages) outages and \(uploads) uploads of up to \(longest) ms: the leader led on; \(deaths) dead leaders: replaced after \(percentile(50, of: times)) ms in the middle, \(times.max() ?? 0) ms at the most"
        try require((times.max() ?? 0) <= (autoPromote + 5) * 1_000, words)
        return words
    }

    /// Publishes, and waits until the follower has it.
    private func publish(
        _ id: String, _ bytes: [UInt8], at leader: Host, _ follower: Host
    ) throws {
        try leader.put(id, bytes, replicated: false)
        try Clock.wait(
            milliseconds: 120_000, orThrow: "\(id) does not come to the follower"
        ) { try follower.payload(of: id) != nil }
    }

    private func check(
        _ leader: Host, _ follower: Host, _ epoch: Int64?, _ when: String
    ) throws {
        try settle([leader, follower], withinSeconds: 60, when)
        let report = leader.report
        try require(
            report?.role == "leader" && report?.epoch == epoch,
            "\(when) the leader is \(report?.role ?? "away") of epoch \(report?.epoch ?? -1), not \(epoch ?? -1)"
        )
        try require(
            leader.exits == 0 && follower.exits == 0,
            "\(when): the leader has exited \(leader.exits) times, the follower \(follower.exits)")
    }
}
