import ArgumentParser
import BlobClient
import Glibc
import TestSupport

/// The bucket answers rubbish for a while, in one way after the other.
struct AbsurdBucketScenario: ShardScenario {
    static let configuration = CommandConfiguration(
        commandName: "absurd-bucket",
        abstract: "The bucket answers nothing, a page, 403, 404, resets, or not at all.",
        discussion: """
            A leader is behind a proxy, under publishers of which some wait for the bucket. For some seconds \
            each the proxy answers 200 with nothing, 200 with a page, 403, 404, resets connections, or does \
            not answer. What was acknowledged as replicated must be on a host that is made from the bucket \
            alone; the leader must acknowledge again soon after each, and ask and log little meanwhile.
            """)
    static let usualRounds = 3

    @OptionGroup var options: ScenarioOptions
    @OptionGroup var shard: ShardOptions

    @Option(help: "How long each lasts, in milliseconds. With --short: 1000.")
    var milliseconds: Int?

    @Option(help: "Requests to the bucket during each, at most.")
    var requestsMax = 20

    @Option(help: "Lines that the daemon logs for each, at most.")
    var linesMax = 5

    @Option(help: "How long after each a publish is acknowledged as replicated, in milliseconds.")
    var recoveryMillisecondsMax = 10_000

    var roundSecondsMax: Int { 360 }

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
        let leader = round.host("leader", "--replicate", through: proxy)
        try leader.start()
        try settle([leader], withinSeconds: 90, "at the start")
        var plan = Publisher.Plan()
        plan.name = "replicated"
        plan.publisherCount = 4
        plan.byteCounts = 200...80_000
        plan.awaitsReplication = true
        plan.persists = true
        plan.rest = { _ in 5_000 }
        let replicated = Publisher.crowd(plan, using: &round.generator)
        plan.name = "local"
        plan.publisherCount = 2
        plan.awaitsReplication = false
        let local = Publisher.crowd(plan, using: &round.generator)
        let stop = StopSign()
        let threads = try round.start(replicated + local, at: [leader.socket], until: stop)
        var (words, faults) = ([String](), [String]())
        for (index, (name, fault)) in Self.faults.enumerated() {
            Clock.pause(microseconds: options.short ? 300_000 : 1_000_000)
            let (lines, requests) = (leader.lineCount, proxy.requestCount)
            proxy.set(fault)
            Clock.pause(microseconds: (milliseconds ?? (options.short ? 1_000 : 5_000)) * 1_000)
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
            let fresh = try round.hostFromBucket()
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
        let count = replicated.reduce(0) { $0 + $1.acknowledgedCount }
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
