import BlobClient
import Glibc
import TestSupport

/// The bucket answers rubbish for a while, in one way after the other.
struct AbsurdBucketScenario: ShardScenario {
    static let about = About(
        "absurd-bucket", "The bucket answers nothing, a page, 403, 404, resets, or not at all.",
        """
        A leader has a proxy in front of its bucket, under publishers of which some wait for the bucket. For some
        seconds each the proxy answers 200 with nothing, 200 with a page, 403, 404, resets connections, or does not
        answer. What was acknowledged as replicated must be on a host that is made from the bucket; the leader must
        acknowledge again soon after each, and ask and log little meanwhile.
        """)

    @Setting(3, short: 1, "How many rounds.") var rounds: Int
    @Setting(5_000, short: 1_000, "How long each lasts, in milliseconds.") var milliseconds: Int
    @Setting(20, "Requests to the bucket during each, at most.") var requestsMax: Int
    @Setting(5, "Lines that the daemon logs for each, at most.") var linesMax: Int
    @Setting(10_000, "Milliseconds after each until a publish is acknowledged as replicated.")
    var recoveryMillisecondsMax: Int

    private static let faults: [(name: String, fault: FaultyProxy.Fault)] = [
        ("200 with nothing", .answered([.answer(200)])),
        (
            "200 with a page",
            .answered([
                .answer(
                    200, ["Content-Type: text/html", "ETag: \"page\""],
                    body: "<html><body>Sign in to this network</body></html>")
            ])
        ),
        ("403", .answered([.error(403, "ExpiredToken")])),
        ("404", .answered([.error(404, "NoSuchBucket")])),
        ("resets", .answered([.reset])),
        ("no answer", .hangs),
    ]

    func play(_ round: inout Round) throws -> String {
        let proxy = try FaultyProxy(to: round.shard.server.port)
        let leader = try round.serve("leader", "--replicate", through: proxy)
        try settle([leader], withinSeconds: 90, "at the start")
        let replicated = round.crowd("replicated", 4, bytes: 200...80_000) {
            $0.rest = { _ in 5_000 }
        }
        let local = round.crowd("local", 2, waits: false, bytes: 200...80_000) {
            $0.rest = { _ in 5_000 }
        }
        let stop = StopSign()
        let threads = try round.start(replicated + local, at: [leader], until: stop)
        var (words, faults) = ([String](), [String]())
        for (index, (name, fault)) in Self.faults.enumerated() {
            Clock.pause(microseconds: round.isShort ? 300_000 : 1_000_000)
            let (lines, requests) = (leader.lineCount, proxy.requestCount)
            proxy.set(fault)
            Clock.pause(microseconds: milliseconds * 1_000)
            let asked = proxy.requestCount - requests
            proxy.set(nil)
            let took = try recover(leader, "probe-\(index)")
            let logged = leader.lineCount - lines
            words.append(
                "\(name): \(asked) requests, \(logged) lines, \(took.map { "acknowledged \($0) ms" } ?? "not acknowledged a minute") later"
            )
            if asked > requestsMax || logged > linesMax
                || took ?? .max > recoveryMillisecondsMax
            {
                faults.append(words[words.count - 1])
            }
            if took == nil { break }
        }
        stop.putUp()
        try threads.join()
        do {
            try settle([leader], withinSeconds: 180, "after all of it")
            let fresh = try round.serve("fresh", "--follow")
            try settle([leader, fresh], withinSeconds: 180, "with a new follower")
            try Publisher.check(
                replicated + local, at: [leader.socket, fresh.socket], "with a new follower")
            leader.kill()
            try fresh.promote(isForced: true)
            try settle([fresh], withinSeconds: 90, "after the promotion")
            try Publisher.check(replicated, at: [fresh.socket], "after the promotion")
            try fresh.verifyStopped()
        } catch { faults.append("\(error)") }
        if leader.exits > 0 { faults.append("the leader exited \(leader.exits) times") }
        try require(faults.isEmpty, faults.joined(separator: " | "))
        let count = Publisher.acknowledgedCount(replicated)
        return words.joined(separator: "; ") + "; \(count) changes acknowledged as replicated"
    }

    /// Publishes until that is acknowledged as replicated.
    ///
    /// - Returns: after how many milliseconds; nil: not within a minute.
    private func recover(_ leader: Host, _ id: String) throws -> Int? {
        let begin = Clock.milliseconds()
        let isBack = try Clock.wait(milliseconds: 60_000) {
            try leader.keepRunning()
            return (try? leader.put(id, Array(id.utf8), replicated: true)) != nil
        }
        return isBack ? Clock.milliseconds() - begin : nil
    }
}
