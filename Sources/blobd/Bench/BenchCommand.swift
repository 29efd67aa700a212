import ArgumentParser
import BlobClient
import LoadGenerator
import Synchronization

struct BenchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measure the throughput and latency of a daemon. Every byte is verified.",
        discussion: """
            Stores payloads under ids that begin with bench-, then fetches them at random, publishes, or \
            does both. At the end, also when it is interrupted, it deletes what it stored; what it cannot \
            delete expires after two hours. After a wrong byte or an error it prints no figures and exits \
            with 1.

              blobd bench
              blobd bench --size 1KiB,16KiB,128KiB,1MiB --connections 16
              blobd bench --dialect binary,http --json

            Mixed sizes with 10 % publishes; only publishes; a fixed rate:

              blobd bench --size mix --reads 90 --connections 32
              blobd bench --publish --size 16KiB --connections 64
              blobd bench --rate 20000 --connections 16

            Without --rate, each connection keeps --pipeline requests in flight. This measures the maximum \
            throughput, but a slow server reduces its own load. With --rate, requests are due at fixed \
            intervals, and latency counts from then. Measure p99 and beyond with --rate, at half of the \
            maximum throughput or less.

            Latencies without a unit are in microseconds, MB/s in 10^6 payload bytes. 'server' is the \
            daemon's CPU time per answer, 'load' the CPU use of this command: near 100 % in a closed loop, it \
            may be the limit. Run both programs on separate cores.

              taskset -c 0 blobd serve --workers 1 --data DIR --socket PATH &
              blobd bench --cpu 1 --socket PATH --connections 16
            """)

    @OptionGroup var socket: SocketOptions

    @Option(
        help: .named(
            "size,…",
            "Payload sizes, one run each: bytes, KiB, MiB, or mix (lognormal around 60 kB, 1 KiB to 4 MiB)."
        ))
    var size: SizesText = SizesText([.fixed(1_024)])

    @Option(help: "Number of connections.")
    var connections: Int = 1

    @Option(help: "Requests in flight on each connection.")
    var pipeline: Int = 1

    @Option(help: .named("dialect,…", "binary, http, or both: one run each."))
    var dialect: DialectsText = DialectsText()

    @Option(
        help: .named(
            "percent", "Percentage of fetches; the others publish unique payloads. (default: 100)"))
    var reads: Int?

    @Flag(help: "Only publish. Same as --reads 0.")
    var publish = false

    @Option(
        help: .named(
            "requests",
            "Requests per second, over all connections. Default: closed loop, as fast as possible.")
    )
    var rate: Double?

    @Option(help: "Measured seconds of each run.")
    var seconds: Double = 5

    @Option(help: "Seconds before the measurement.")
    var warmUp: Double = 1

    @Option(help: "The same seed requests the same payloads in the same order.")
    var seed: UInt64 = 1

    @Option(
        help: .named(
            "all|sample",
            "all: verify every byte. sample: lengths and ends, and every byte of 1 answer in 16."))
    var check: LoadCheck = .all

    @Flag(help: "Leave the payloads to fetch, for a run with --stored.")
    var keep = false

    @Flag(help: "Use the payloads that a run with --keep and the same sizes and seed has left.")
    var stored = false

    @Option(help: .named("core", "Run on this core."))
    var cpu: Int?

    @Option(
        help: .named(
            "pid",
            "The server's process. Default: the one that listens on the socket."
        ))
    var serverPid: [Int32] = []

    @Flag(help: "Print one JSON document per run.")
    var json = false

    func validate() throws {
        try Self.check("--connections", connections, LoadLimits.connections)
        try Self.check("--pipeline", pipeline, LoadLimits.depth)
        try Self.check("--seconds", seconds, LoadLimits.seconds)
        try Self.check("--warm-up", warmUp, LoadLimits.warmUpSeconds)
        if let reads {
            try Self.check("--reads", reads, LoadLimits.readPercent)
            try require(!publish || reads == 0, "--publish means --reads 0; --reads is \(reads)")
        }
        if let rate { try Self.check("--rate", rate, LoadLimits.rate) }
        if let cpu { try Self.check("--cpu", cpu, LoadLimits.core) }
        try require(
            serverPid.count <= LoadLimits.serverProcessCountMax,
            "--server-pid is given \(serverPid.count) times; the limit is \(LoadLimits.serverProcessCountMax)"
        )
    }

    private static func check<Value: Comparable>(
        _ name: String, _ value: Value, _ bounds: ClosedRange<Value>
    ) throws {
        try require(
            bounds.contains(value),
            "\(name) is \(value); it must be \(bounds.lowerBound) to \(bounds.upperBound)")
    }

    func run() throws {
        // The client has better error messages for a bad socket.
        _ = try socket.connect()
        let interruption = LoadInterruption()
        Interruption.handle { interruption.note($0) }
        var options = try options()
        options.isStopped = { interruption.signal != nil }
        var report = BenchReport()
        do {
            for dialect in dialect.dialects {
                for sizes in size.sizes {
                    let figures = try measure(sizes, dialect, options)
                    if json {
                        try StandardOutput.write(JSONLine.text(figures))
                    } else {
                        report.append(figures)
                    }
                }
            }
        } catch let failure as LoadFailure {
            if failure.reason == .stopped, let signal = interruption.signal {
                StandardError.note("interrupted; no figures")
                throw ExitCode(Interruption.exitCode(of: signal))
            }
            throw CommandFailure(failure)
        }
        if !json { try StandardOutput.write(report.text()) }
    }

    private func measure(
        _ sizes: PayloadSizes, _ dialect: any LoadDialect, _ options: LoadOptions
    ) throws -> LoadFigures {
        let payloads = try LoadPayloads(sizes, seed: seed)
        let run = try LoadRun(dialect, payloads, options)
        var progress = BenchProgress("\(dialect.name), \(sizes)")
        defer {
            progress.finish()
            deleteAll(of: payloads, options)
        }
        if options.readPercent > 0, !stored {
            try run.store(
                progress: progress.isShown
                    ? { progress.update(storing: $0, of: payloads.count) } : nil)
        }
        return try run.measure(progress: progress.isShown ? { progress.update($0) } : nil)
    }

    /// Deletes what the run stored. That it cannot is no failure of the measurement.
    private func deleteAll(of payloads: LoadPayloads, _ options: LoadOptions) {
        var ids: [String] = []
        if options.readPercent > 0, !stored, !keep {
            ids += (0..<payloads.count).map { payloads.item($0).id }
        }
        if options.readPercent < 100 {
            ids += (0..<payloads.count).map { payloads.publishedItem($0).id }
        }
        guard !ids.isEmpty else { return }
        var leftCount = ids.count
        do {
            let pool = try ConnectionPool(
                try socket.connect(), count: min(ids.count, Self.deletionConnectionCount), socket)
            try pool.forEach(ids) { connection, id in
                _ = try connection.queueCall(.delete(id))
            } take: { id, outcome in
                // One that was never stored is not there either.
                if case .failed(let error) = outcome, ExitStatus(error) != .notFound { return }
                leftCount -= 1
            }
        } catch {
            StandardError.note("\(error)")
        }
        guard leftCount > 0 else { return }
        StandardError.note(
            "up to \(HumanText.count(leftCount)) notifications bench-… are left, and expire within two hours"
        )
    }

    private static let deletionConnectionCount = 64

    private func options() throws -> LoadOptions {
        var options = LoadOptions(socketPath: try socket.path())
        options.connections = connections
        options.depth = pipeline
        options.seconds = seconds
        options.warmUpSeconds = warmUp
        options.readPercent = publish ? 0 : reads ?? 100
        options.rate = rate
        options.check = check
        options.seed = seed
        options.serverProcesses = serverPid
        options.core = cpu
        return options
    }
}

/// The signal that ends a run, noted by one thread for another.
private final class LoadInterruption: Sendable {
    private let noted = Atomic<Int32>(0)

    var signal: Int32? {
        let number = noted.load(ordering: .relaxed)
        return number == 0 ? nil : number
    }

    func note(_ signal: Int32) { noted.store(signal, ordering: .relaxed) }
}

extension CommandFailure {
    fileprivate init(_ failure: LoadFailure) {
        let status: ExitStatus =
            switch failure.reason {
            case .options: .badUsage
            case .noServer: .noDaemon
            case .server, .wrongBytes, .system, .stopped: .refused
            }
        self.init(status, failure.description)
    }
}
