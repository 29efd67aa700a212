import ArgumentParser
import BlobClient
import BlobServer
import Glibc

struct StatsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Show the daemon's counters.",
        discussion: """
            Counters of the store are exact. Counters of requests start at 0 when the daemon starts.

              blobd stats
              blobd stats --json | jq .blobs
              blobd stats --watch 5
            """)

    @Flag(help: "Print the counters as JSON.")
    var json = false

    @Option(
        help: .named(
            "seconds",
            "Print rates at this interval until interrupted."
        ))
    var watch: Double?

    @OptionGroup var socket: SocketOptions

    func validate() throws {
        if let watch, !(0.1...3_600).contains(watch) {
            throw ValidationError("--watch is \(watch); it must be 0.1 to 3600 seconds")
        }
    }

    func run() throws {
        if let watch { return try follow(every: watch) }
        var connection = try socket.connect()
        let answer = try connection.answer(to: .stats)
        guard !json else { return try StandardOutput.writeLine(answer.body) }
        try StandardOutput.write(Self.text(try DaemonCall.stats.read(answer)))
    }

    private func follow(every seconds: Double) throws {
        var watch = try ActivityWatch(socket)
        for number in 0... {
            usleep(useconds_t(seconds * 1e6))
            let activity = try watch.next()
            if json {
                try StandardOutput.write(try activity.jsonLine())
            } else {
                if number % 20 == 0 { try StandardOutput.write(ActivityLine.titles) }
                try StandardOutput.write(ActivityLine.text(activity))
            }
        }
    }

    static func text(_ stats: DaemonStatistics) -> String {
        func rows(_ figures: [Figure]) -> [(String, String?)] {
            figures.compactMap { figure in
                guard let title = figure.title, let name = figure.name else { return nil }
                return (title, stats[name].map { Self.text($0, figure.unit) })
            }
        }
        let run = [
            ("store id", stats.storeID), ("up for", stats.uptimeSeconds.map(Self.uptime)),
        ]
        let errors: [(String, String?)] = (stats.errors ?? [:])
            .sorted { $0.key < $1.key }.filter { $0.value > 0 }
            .map { ("errors, \($0.key)", HumanText.count($0.value)) }
        return HumanText.rows(
            rows(Figure.stored) + run + rows(Figure.served) + quotaRows(stats) + scrubRows(stats)
                + errors, width: 24)
    }

    private static func text(_ number: Int64, _ unit: Figure.Unit) -> String {
        switch unit {
        case .number: HumanText.count(number)
        case .bytes: "\(HumanText.bytes(number)) (\(HumanText.count(number)))"
        }
    }

    private static func scrubRows(_ stats: DaemonStatistics) -> [(String, String?)] {
        guard let scrub = stats.scrub else { return [] }
        return [
            ("scrub", scrub.isRunning ? ScrubCommand.state(scrub) : nil),
            ("last scrub ended", scrub.lastEndedAt ?? "never"),
            ("damaged payloads", HumanText.count(scrub.quarantined)),
            ("corrupt chunks found", HumanText.count(scrub.corruptChunks)),
        ]
    }

    private static func quotaRows(_ stats: DaemonStatistics) -> [(String, String?)] {
        let quotas = stats.quotas ?? [:]
        func row(
            _ name: String, _ used: Int64?, _ text: (Int64) -> String, _ word: String = "of"
        ) -> (String, String?) {
            (
                name.replacing("_", with: "-"),
                quotas[name].map { (used.map { "\(text($0)) " } ?? "") + "\(word) \(text($0))" }
            )
        }
        let bytes = { (number: Int64) in HumanText.bytes(number) }
        let count = { (number: Int64) in HumanText.count(number) }
        return [
            row("max_bytes", stats.bytesStored, bytes),
            row("max_notifications", stats.notifications, count),
            row("owner_max_bytes", nil, bytes, "each owner"),
            row("owner_max_notifications", nil, count, "each owner"),
            row("min_free_disk", quotas["free_disk"], bytes, "free; at least"),
        ]
    }

    private static func uptime(_ seconds: Double) -> String {
        guard seconds.isFinite, seconds >= 0, seconds < 1e12 else { return "?" }
        return HumanText.duration(milliseconds: Int64(seconds * 1_000))
    }
}
