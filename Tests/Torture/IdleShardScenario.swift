import ArgumentParser
import BlobClient
import Glibc
import TestSupport

/// What a shard asks of its bucket while nothing happens.
struct IdleShardScenario: Scenario {
    static let configuration = CommandConfiguration(
        commandName: "idle-shard",
        abstract: "Requests to the bucket while nothing happens.",
        discussion: """
            A leader and a follower of an empty shard do nothing for a while. Their requests are counted by \
            themselves and compared with what an hour may cost: 720 PUT of a leader, 14,400 GET of a follower.
            """)

    @OptionGroup var options: ScenarioOptions

    @Option(help: "How long, in seconds. With --short: 3, and four times as much passes.")
    var seconds: Int?

    @Option(help: "The server: moto or rgw.")
    var server = "moto"

    var secondsMax: UInt32 { UInt32(clamping: 180 + 2 * duration) }

    private var duration: Int { seconds ?? (options.short ? 3 : 60) }

    func torture(_ bench: inout Workbench) throws -> [String] {
        let shard = try ShardUnderTest(server, "idle-\(bench.seed)")
        let leader = try shard.serve("leader", "--replicate", bench)
        let follower = try shard.serve("follower", "--follow", bench)
        try settle([leader, follower], withinSeconds: 120, "at the start")
        try waitUntilIdle(leader)
        try waitUntilIdle(follower)
        let before = (try requests(leader), try requests(follower))
        let begin = Clock.nanoseconds()
        Clock.pause(microseconds: duration * 1_000_000)
        let after = (try requests(leader), try requests(follower))
        let passed = Clock.nanoseconds() - begin
        try leader.stop()
        try follower.stop()
        func anHour(_ after: [String: Int], _ before: [String: Int]) -> [String: Int] {
            after.reduce(into: [:]) { sum, entry in
                let count = entry.value - (before[entry.key] ?? 0)
                sum[entry.key] = count * 3_600 * 1_000_000_000 / passed
            }
        }
        let (leading, following) = (anHour(after.0, before.0), anHour(after.1, before.1))
        func words(_ counts: [String: Int]) -> String {
            counts.filter { $0.value > 0 }.sorted { $0.key < $1.key }
                .map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        }
        let text =
            "an hour, by \(passed / 1_000_000_000) s: leader \(words(leading)); follower \(words(following))"
        let puts = leading.filter { $0.key.hasPrefix("put") || $0.key == "create" }
        try require(!puts.isEmpty && following["get"] ?? 0 > 0, "no requests are counted: \(text)")
        // A single request more or less in a few seconds is hundreds an hour.
        let most = options.short ? 4 : 1
        try require(
            puts.values.reduce(0, +) <= 720 * most && following["get"] ?? 0 <= 14_400 * most, text)
        return [text]
    }

    /// Waits until a daemon has tried out its bucket, and made what there is to make: until it deletes and stores
    /// nothing for two seconds, but that it is alive.
    private func waitUntilIdle(_ daemon: Host) throws {
        func busy() throws -> Int {
            try requests(daemon).filter { $0.key != "get" && $0.key != "list" }.values.reduce(0, +)
        }
        let end = Clock.milliseconds() + 60_000
        while true {
            let before = try busy()
            Clock.pause(microseconds: 2_000_000)
            if try busy() <= before + 1 { return }
            try require(Clock.milliseconds() < end, "a daemon with nothing to do goes on for 60 s")
        }
    }

    /// Requests to the bucket so far, by their operation.
    private func requests(_ daemon: Host) throws -> [String: Int] {
        var counts: [String: Int] = [:]
        for (name, count) in try HTTPClient.metrics(of: daemon.socket)
        where name.hasPrefix("blobd_bucket_requests_total{") {
            let parts = name.split(separator: "\"")
            if parts.count >= 2 { counts[String(parts[1]), default: 0] += count }
        }
        return counts
    }
}
