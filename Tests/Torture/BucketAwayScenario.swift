import ArgumentParser
import BlobClient
import BlobProtocol
import Glibc
import Synchronization
import TestSupport

/// The bucket does not answer for a while, and slowly after that.
struct BucketAwayScenario: Scenario {
    static let configuration = CommandConfiguration(
        commandName: "bucket-away",
        abstract:
            "The bucket of a shard is away, then comes back: publishers, the cap, the follower.",
        discussion: """
            The server's process is stopped (SIGSTOP) under publishers who do not wait for it. Their \
            publishes must not take longer than before, until --max-unreplicated is reached: then they are \
            refused with 503 unreplicated, fetches go on, and the lag that is told grows. When the server \
            goes on, everything catches up: the follower has every change.
            """)

    @OptionGroup var options: ScenarioOptions

    @Option(help: "How long the bucket is away, in seconds. With --short: 5.")
    var seconds: Int?

    @Option(help: "The server: moto or rgw.")
    var server = "moto"

    var secondsMax: UInt32 { UInt32(clamping: 240 + 2 * away) }

    private var away: Int { seconds ?? (options.short ? 5 : 600) }
    /// The cap is reached two thirds of the way through.
    private var cap: Int { max(2, away * 2 / 3) }

    func torture(_ bench: inout Workbench) throws -> [String] {
        guard let kind = ObjectServer.Kind(rawValue: server) else {
            throw TestFailure("the server is \(server); it must be moto or rgw")
        }
        let bucket = try ObjectServer.shared(kind)
        for (name, value) in bucket.variables { setenv(name, value, 1) }
        // A prefix of its own: others may use the server, too.
        let shard = "s3://test/away-\(bench.seed)"
        let one = Workbench(folder: bench.folder + "/one", blobd: bench.blobd)
        let two = Workbench(folder: bench.folder + "/two", blobd: bench.blobd)
        for bench in [one.folder, two.folder] { mkdir(bench, 0o755) }
        var leader = try DaemonUnderTest.serving(
            one, arguments: ["--replicate", shard, "--max-unreplicated", "\(cap)s"])
        try waitUntilShipped(leader, "before the bucket is away")
        var follower = try DaemonUnderTest.serving(two, arguments: ["--follow", shard])
        let publisher = PacedPublisher()
        let before = try publisher.run(at: leader.socket, milliseconds: 2_000)
        try waitUntilShipped(leader, "before the bucket is away")

        bucket.pause()
        defer { bucket.resume() }
        // One batch is under way and the others wait.
        let during = try publisher.run(at: leader.socket, milliseconds: cap * 1_000 / 2)
        try require(during.refused == 0, "\(during.refused) publishes were refused below the cap")
        var connection = try leader.connect()
        let lag = try connection.replication().lagMilliseconds ?? 0
        try require(lag > Int64(cap * 1_000 / 4), "the lag is \(lag) ms")
        let end = Clock.milliseconds() + cap * 1_000 + 10_000
        while try publisher.run(at: leader.socket, milliseconds: 100).refused == 0 {
            try require(Clock.milliseconds() < end, "nothing is refused beyond the cap")
        }
        _ = try connection.get(publisher.lastID)
        bucket.resume()
        try waitUntilShipped(leader, "when the bucket is back")
        let after = try publisher.run(at: leader.socket, milliseconds: 500)
        try require(after.refused == 0, "publishes are refused when everything is shipped")
        try waitUntilShipped(leader, "at the end")
        let goal = try connection.replication().sequence ?? 0
        var second = try follower.connect()
        let patience = Clock.milliseconds() + 60_000
        while try second.replication().sequence ?? 0 < goal {
            try require(Clock.milliseconds() < patience, "the follower does not catch up")
            Clock.pause(microseconds: 50_000)
        }
        try publisher.check(at: follower.socket)
        try leader.stop()
        try follower.stop()
        if !options.short {
            try require(
                during.p99 <= before.p99 * 11 / 10,
                "p99 of publishes was \(before.p99) µs and is \(during.p99) µs while the bucket is away"
            )
        }
        return [
            "away for the cap of \(cap) s with \(server)",
            "p99 of publishes \(before.p99) µs before, \(during.p99) µs meanwhile",
            "\(publisher.acknowledgedCount) changes acknowledged, all on the follower",
        ]
    }

    private func waitUntilShipped(
        _ leader: borrowing DaemonUnderTest, _ when: String
    ) throws {
        var connection = try leader.connect()
        let end = Clock.milliseconds() + 60_000
        while true {
            let report = try connection.replication()
            if report.segment ?? 0 > 1, report.sequence == report.shippedSequence { return }
            try require(Clock.milliseconds() < end, "not everything is shipped \(when)")
            Clock.pause(microseconds: 20_000)
        }
    }
}

/// Publishes 500 notifications a second, one after the other.
private final class PacedPublisher: Sendable {
    struct Figures {
        var refused = 0
        /// In microseconds.
        var p99 = 0
    }

    private let count = Mutex(0)
    private let acknowledged = Mutex<[String]>([])

    var acknowledgedCount: Int { acknowledged.withLock { $0.count } }
    var lastID: String { acknowledged.withLock { $0.last ?? "" } }

    func run(at socket: String, milliseconds: Int) throws -> Figures {
        var connection = try BlobConnection.connect(to: socket)
        var (figures, times) = (Figures(), [Int]())
        let end = Clock.milliseconds() + milliseconds
        while Clock.milliseconds() < end {
            let id = count.withLock { count in
                count += 1
                return "paced-\(count)"
            }
            let begin = Clock.nanoseconds()
            if try publish(id, &connection) {
                times.append((Clock.nanoseconds() - begin) / 1_000)
            } else {
                figures.refused += 1
            }
            let rest = 2_000 - (Clock.nanoseconds() - begin) / 1_000
            if rest > 0 { Clock.pause(microseconds: rest) }
        }
        times.sort()
        figures.p99 = times.isEmpty ? 0 : times[times.count * 99 / 100]
        return figures
    }

    /// - Returns: false when it was refused because too much is not replicated.
    private func publish(_ id: String, _ connection: inout BlobConnection) throws -> Bool {
        let request = PutRequest(id: id, mediaType: "text/plain", lifetime: .seconds(3_600))
        let body = Array(id.utf8)
        do throws(ClientError) {
            _ = try connection.put(request, body.span.bytes)
        } catch {
            guard case .refused(let problem) = error, problem.code == "unreplicated" else {
                throw error
            }
            return false
        }
        acknowledged.withLock { $0.append(id) }
        return true
    }

    /// Throws unless all that was acknowledged is there.
    func check(at socket: String) throws {
        var connection = try BlobConnection.connect(to: socket)
        for id in acknowledged.withLock({ $0 }) {
            let found = try connection.get(id)
            try require(
                found.bytes == Array(id.utf8), "\(id) has other bytes on the follower")
        }
    }
}
