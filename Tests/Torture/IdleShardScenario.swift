import Glibc
import TestSupport

/// What a shard asks of its bucket while nothing happens.
struct IdleShardScenario: ShardScenario {
    static let about = About(
        "idle-shard", "Requests to the bucket while nothing happens.",
        """
        A leader and a follower of an empty shard do nothing for a while. Their requests are counted by themselves and
        compared with what an hour may cost: 720 PUT of a leader, 14,400 GET of a follower.
        """)

    @Setting(1, "How many rounds.") var rounds: Int
    @Setting(60, short: 3, "How long, in seconds.") var seconds: Int
    @Setting(
        1, short: 4, "How many times as much passes: a request more in seconds is hundreds an hour."
    )
    var times: Int

    func play(_ round: inout Round) throws -> String {
        let leader = try round.serve("leader", "--replicate")
        let follower = try round.serve("follower", "--follow")
        try settle([leader, follower], withinSeconds: 120, "at the start")
        try waitUntilIdle(leader)
        try waitUntilIdle(follower)
        let before = try [leader, follower].map { try requests($0) }
        let begin = Clock.nanoseconds()
        Clock.pause(microseconds: seconds * 1_000_000)
        let after = try [leader, follower].map { try requests($0) }
        let passed = Clock.nanoseconds() - begin
        try leader.stop()
        try follower.stop()
        let hour = zip(after, before).map { after, before in
            after.reduce(into: [:]) { counts, entry in
                let count = entry.value - (before[entry.key] ?? 0)
                counts[entry.key] = count * 3_600 * 1_000_000_000 / passed
            } as [String: Int]
        }
        let words = hour.map { counts in
            counts.filter { $0.value > 0 }.sorted { $0.key < $1.key }
                .map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        }
        let text =
            "an hour, by \(passed / 1_000_000_000) s: leader \(words[0]); follower \(words[1])"
        let puts = hour[0].filter { $0.key.hasPrefix("put") || $0.key == "create" }
        let gets = hour[1]["get"] ?? 0
        try require(!puts.isEmpty && gets > 0, "no requests are counted: \(text)")
        try require(
            puts.values.reduce(0, +) <= 720 * times && gets <= 14_400 * times, text)
        return text
    }

    /// Waits until a daemon has tried out its bucket, and made what there is to make: until it deletes and stores
    /// nothing for two seconds, but that it is alive.
    private func waitUntilIdle(_ daemon: Host) throws {
        func busy() throws -> Int {
            try requests(daemon).filter { $0.key != "get" && $0.key != "list" }.values.reduce(0, +)
        }
        try Clock.wait(
            milliseconds: 60_000, orThrow: "a daemon with nothing to do goes on for 60 s"
        ) {
            let before = try busy()
            Clock.pause(microseconds: 2_000_000)
            return try busy() <= before + 1
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
