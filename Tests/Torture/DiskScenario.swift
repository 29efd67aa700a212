import ArgumentParser
import BlobClient
import Glibc
import TestSupport

/// Fills a store again and again, most of which expires at once, and watches what the disk has of it.
struct DiskScenario: Scenario {
    static let configuration = CommandConfiguration(
        commandName: "disk",
        abstract: "Mass expiry: the disk comes back while others fetch.",
        discussion: """
            In each round a tenth of the payloads replaces that of the round before, and the others \
            expire at one moment. From then on what data.mdb takes on the disk is compared with the \
            live bytes, until it is at most 1.3 times as much, besides 10 MiB that any store takes. A client fetches all the time; its \
            99th percentile then is compared with that of the same store before the moment, unless others \
            take the processors meanwhile. No round may take more of the disk than the first.
            """)

    @OptionGroup var options: ScenarioOptions

    @Option(help: "Mebibytes of each round. With --short: 64.")
    var megabytes: Int?

    @Option(help: "Rounds. With --short: 2.")
    var rounds: Int?

    @Option(help: "Bytes of a payload.")
    var bytes = 100_000

    @Option(
        help: "How long the fetches before the moment take at least, in seconds. With --short: 0.3."
    )
    var quiet: Double?

    @Option(help: "How long the disk may take to come back, in seconds; not judged with --short.")
    var seconds = 60

    @Option(
        help:
            "How much the 99th percentile may grow; with --short: 20 times as much. Not judged on a busy machine."
    )
    var slowdown = 1.25

    var secondsMax: UInt32 { UInt32(clamping: 300 + roundCount * 240) }

    private var roundCount: Int { rounds ?? (options.short ? 2 : 3) }
    private var byteCount: Int { (megabytes ?? (options.short ? 64 : 2_048)) << 20 }
    private var quietMilliseconds: Int { Int((quiet ?? (options.short ? 0.3 : 5)) * 1_000) }

    func validate() throws {
        guard bytes >= 1_000, byteCount / bytes >= 20, roundCount > 0 else {
            throw ValidationError("--bytes is at least 1000, and a round has 20 payloads at least")
        }
    }

    func torture(_ bench: inout Workbench) throws -> [String] {
        var daemon = try DaemonUnderTest.serving(
            bench, arguments: options.short ? [DaemonFlag.sweep, "50ms"] : [])
        var filling = DiskFilling(
            socket: daemon.socket, payloadCount: byteCount / bytes, byteCount: bytes)
        let reader = DiskReader(
            socket: daemon.socket, keptCount: filling.keptCount, byteCount: bytes,
            seed: bench.seed)
        var results: [Round] = []
        for number in 0..<roundCount {
            let result = try round(number, &filling, reader, daemon.pid, bench)
            say("disk: round \(number): \(result.words)")
            results.append(result)
            try daemon.requireRunning("in round \(number)")
        }
        try judge(results)
        try daemon.stop()
        try verify(bench, "after \(roundCount) rounds")
        let (before, after) = (results.map(\.before).max() ?? 0, results.map(\.after).max() ?? 0)
        return [
            "\(roundCount) rounds of \(byteCount >> 20) MiB, \(reader.count) fetches",
            "the disk came back within \(results.map(\.milliseconds).max() ?? 0) ms at most",
            "99th percentile of fetches \(before) µs before and \(after) µs after at most",
        ]
    }

    /// What a store takes whatever is in it: the write-ahead log, and what --keep-free leaves.
    private static let fixedByteCount = (8 + 2) << 20

    /// What came of a round: bytes, milliseconds, microseconds.
    private struct Round {
        var filled = 0
        var fillMilliseconds = 0
        var peak = 0
        var live = 0
        var back = 0
        var milliseconds = 0
        var before = 0
        var after = 0
        /// How much of the processors' time others took, in percent.
        var foreign = 0

        var words: String {
            "\(filled >> 20) MiB in \(fillMilliseconds) ms, at most \(peak >> 20) MiB on the disk; "
                + "\(back >> 20) for \(live >> 20) live after \(milliseconds) ms; 99th percentile of fetches "
                + "\(before) µs, then \(after) µs, with \(foreign) % of the processors for others"
        }
    }

    private func round(
        _ number: Int, _ filling: inout DiskFilling, _ reader: DiskReader, _ daemon: pid_t,
        _ bench: borrowing Workbench
    ) throws -> Round {
        var result = Round()
        let begin = Clock.milliseconds()
        let moment = try filling.fill(round: number, quietMilliseconds: quietMilliseconds)
        result.filled = byteCount
        result.fillMilliseconds = Clock.milliseconds() - begin
        var connection = try BlobConnection.connect(to: bench.socket)
        result.peak = try Self.allocated(bench)
        let threads = try Threads.start(1) { _ in try reader.fetch(round: number) }
        defer { reader.stop() }
        let load = try ForeignLoad(beside: daemon)
        while Self.now() < moment { Clock.pause(microseconds: 2_000) }
        result.before = percentile(99, of: reader.take())
        // The live bytes are those that are left when all has expired.
        let start = Clock.milliseconds()
        let limitMilliseconds = (options.short ? 120 : seconds) * 1_000
        while true {
            let allocated = try Self.allocated(bench)
            result.peak = max(result.peak, allocated)
            let hasExpired =
                try statistic("notifications", &connection) <= filling.keptCount
                && statistic("orphan_blobs", &connection) == 0
            let live = try statistic("bytes_stored", &connection)
            (result.live, result.back) = (live, allocated)
            result.milliseconds = Clock.milliseconds() - start
            let most = live * 13 / 10 + Self.fixedByteCount
            if hasExpired, allocated <= most { break }
            try require(
                result.milliseconds < limitMilliseconds,
                "round \(number): \(allocated >> 20) MiB on the disk for \(live >> 20) live after \(limitMilliseconds / 1_000) s"
            )
            Clock.pause(microseconds: options.short ? 20_000 : 200_000)
        }
        reader.stop()
        try threads.join()
        result.after = percentile(99, of: reader.take())
        result.foreign = try load.percent()
        return result
    }

    private func judge(_ results: [Round]) throws {
        let first = results[0]
        let slowdownMax = options.short ? 20 * slowdown : slowdown
        for (number, result) in results.enumerated() {
            // What the round before left is there besides. A commit's pages more or less.
            let left = number > 0 ? results[number - 1].live : 0
            let most = first.peak + left
            try require(
                result.peak <= most + most / 10 + (4 << 20),
                "round \(number) took \(result.peak >> 20) MiB of the disk, the first \(first.peak >> 20), and \(left >> 20) were left"
            )
            try require(
                result.foreign > Self.foreignPercentMax
                    || Double(result.after) <= Double(result.before) * slowdownMax,
                "round \(number): the 99th percentile went from \(result.before) to \(result.after) µs"
            )
        }
    }

    /// Where others take more, the scheduler is measured and not the daemon.
    private static let foreignPercentMax = 10

    /// Milliseconds since 1970.
    static func now() -> Int {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return now.tv_sec * 1_000 + now.tv_nsec / 1_000_000
    }

    private static func allocated(_ bench: borrowing Workbench) throws -> Int {
        var status = stat()
        try require(stat("\(bench.data)/data.mdb", &status) == 0, "data.mdb: \(words(errno))")
        return Int(status.st_blocks) * 512
    }
}
