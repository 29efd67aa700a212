import ArgumentParser
import BlobClient
import BlobServer
import Glibc

/// `blobd stats`: shows the daemon's counters.
struct StatsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Show the daemon's counters.",
        discussion: """
            Counters of the store are exact. Counters of requests start at 0 with the daemon.

              blobd stats
              blobd stats --json | jq .blobs
              blobd stats --watch 5
            """)

    @Flag(help: "Print the counters as JSON.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "Print a line of rates every so many seconds, until it is interrupted; with --json an object.",
            valueName: "seconds"))
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

    /// Prints a line for each interval, and the titles now and then.
    private func follow(every seconds: Double) throws {
        var watch = try ActivityWatch(socket)
        for number in 0... {
            usleep(useconds_t(seconds * 1e6))
            let activity = try watch.next()
            if json {
                try StandardOutput.write(try JSONLine.text(ActivityReport(activity)))
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
        let all =
            rows(Figure.stored) + run + rows(Figure.served) + quotaRows(stats) + scrubRows(stats)
        var text = ""
        for case (let title, let value?) in all {
            text += title + String(repeating: " ", count: 24 - title.count) + value + "\n"
        }
        for (code, number) in (stats.errors ?? [:]).sorted(by: { $0.key < $1.key }) where number > 0
        {
            text += "errors, \(code)".padded(to: 24) + HumanText.count(number) + "\n"
        }
        return text
    }

    private static func text(_ number: Int64, _ unit: Figure.Unit) -> String {
        switch unit {
        case .number: HumanText.count(number)
        case .bytes: "\(HumanText.bytes(number)) (\(HumanText.count(number)))"
        }
    }

    /// How far the store was read again, and what is damaged.
    private static func scrubRows(_ stats: DaemonStatistics) -> [(String, String?)] {
        guard let scrub = stats.scrub else { return [] }
        return [
            ("scrub", scrub.isRunning ? ScrubCommand.state(scrub) : nil),
            ("last scrub ended", scrub.lastEndedAt ?? "never"),
            ("damaged payloads", HumanText.count(scrub.quarantined)),
            ("corrupt chunks found", HumanText.count(scrub.corruptChunks)),
        ]
    }

    /// What may be there, with what is.
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
        // What is no sensible time is shown as none.
        guard seconds.isFinite, seconds >= 0, seconds < 1e12 else { return "?" }
        return HumanText.duration(milliseconds: Int64(seconds * 1_000))
    }
}

extension String {
    /// The text with blanks behind it up to a width, and at least one.
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(1, width - count))
    }
}
