import ArgumentParser
import BlobClient

/// `blobd bench`: a closed-loop load on a daemon that is running, with every byte checked.
struct BenchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measures how fast a daemon answers, checking every byte.",
        discussion: """
            Stores payloads of one size under ids that begin with bench-, then fetches them at random, or \
            publishes new ones with --publish. Every connection keeps --pipeline requests in flight. A \
            wrong byte or an error ends it without a figure.

              blobd bench --size 1024 --connections 16
              blobd bench --size 16384 --connections 64 --publish
              blobd bench --size 1024,16384,131072 --dialect http --json

            Give server and load cores of their own (taskset) to compare figures.
            """)

    @OptionGroup var socket: SocketOptions

    @Option(help: ArgumentHelp("Payload sizes, separated by commas.", valueName: "bytes"))
    var size: String = "1024"

    @Option(help: "Connections.")
    var connections: Int = 1

    @Option(help: "Requests in flight on each connection.")
    var pipeline: Int = 1

    @Option(help: "binary or http.")
    var dialect: BenchDialect = .binary

    @Flag(help: "Publish instead of fetching; each publish is on disk before it is answered.")
    var publish = false

    @Option(help: "Seconds that count, for each size.")
    var seconds: Double = 5

    @Option(help: "Seconds before they count.")
    var warmUp: Double = 1

    @Option(help: "The same seed asks for the same things.")
    var seed: UInt64 = 1

    @Flag(help: "One JSON document a line and size.")
    var json = false

    /// The most that may be asked for.
    private enum Limits {
        static let connections = 1...4_096
        static let pipeline = 1...64
        static let sizes = 1...(64 << 20)
        static let seconds = 0.1...3_600
    }

    func validate() throws {
        guard Limits.connections.contains(connections) else {
            throw ValidationError("--connections \(connections) is not within 1…4096")
        }
        guard Limits.pipeline.contains(pipeline) else {
            throw ValidationError("--pipeline \(pipeline) is not within 1…64")
        }
        guard Limits.seconds.contains(seconds), warmUp >= 0, warmUp <= seconds * 100 else {
            throw ValidationError("--seconds \(seconds) is not within 0.1…3600")
        }
        _ = try sizes()
    }

    private func sizes() throws -> [Int] {
        try size.split(separator: ",", omittingEmptySubsequences: false).map { text in
            guard let value = Int(text), Limits.sizes.contains(value) else {
                throw ValidationError("--size \(text) is not a number of bytes within 1…67108864")
            }
            return value
        }
    }

    func run() throws {
        var table = TextTable([
            ("size", .right), ("requests/s", .right), ("MB/s", .right), ("p50 µs", .right),
            ("p99 µs", .right), ("p99.9 µs", .right),
        ])
        for size in try sizes() {
            let payloads = BenchPayloads(byteCount: size, seed: seed)
            if !publish {
                var connection = try socket.connect()
                try payloads.load(into: &connection)
            }
            let workload = BenchWorkload(
                dialect: dialect, publishes: publish, payloads: payloads, seed: seed)
            let run = BenchRun(
                path: try socket.path(), workload: workload, connections: connections,
                depth: pipeline, seconds: seconds, warmUpSeconds: warmUp)
            let figures = try measure(run)
            if json {
                try StandardOutput.write(JSONLine.text(figures))
            } else {
                table.append([
                    HumanText.count(size), HumanText.count(Int(figures.requestsPerSecond)),
                    HumanText.count(Int(figures.megabytesPerSecond)),
                    HumanText.count(figures.p50Microseconds),
                    HumanText.count(figures.p99Microseconds),
                    HumanText.count(figures.p999Microseconds),
                ])
            }
        }
        if !json { try StandardOutput.write(table.takeText(withTitles: true)) }
    }

    private func measure(_ run: BenchRun) throws -> BenchRun.Figures {
        do {
            return try run.run()
        } catch let failure as BenchFailure {
            throw CommandFailure(.refused, failure.description)
        }
    }
}
