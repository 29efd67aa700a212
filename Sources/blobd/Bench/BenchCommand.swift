import ArgumentParser
import LoadGenerator

/// `blobd bench`: a load on a daemon that is running, with every byte checked.
struct BenchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measures how fast a daemon answers, checking every byte.",
        discussion: """
            Stores payloads under ids that begin with bench-, for two hours, then fetches them at random; or \
            publishes, or both. A wrong byte or an error ends it with exit code 1 and without a figure.

              blobd bench
              blobd bench --size 1KiB,16KiB,128KiB,1MiB --connections 16
              blobd bench --dialect binary,http --json

            As in production, sizes of all kinds and one publish in ten requests; nothing but publishes, \
            each on disk before it is answered; and a load that does not yield:

              blobd bench --size mix --reads 90 --connections 32
              blobd bench --publish --size 16KiB --connections 64
              blobd bench --rate 20000 --connections 16

            CLOSED LOOP AND FIXED RATE. Without --rate each connection keeps --pipeline requests in flight and \
            asks again as soon as it is answered: that finds the highest throughput, and a latency in which a slow \
            server slows its own load down. With --rate requests are due at even times, come what may, and a \
            latency counts from when its request was due, so that a stall is felt by all who would have come \
            meanwhile. Look there for p99 and beyond, at half of the highest throughput or less.

            WHAT THE NUMBERS MEAN. Latencies are in microseconds; 99 % of all are not above p99. MB/s counts \
            payload bytes, in units of 10^6. 'server' is the daemon's processor time by answers, 'load' is how much \
            of a core this command used: near 100 % in a closed loop it may be the limit itself. Two programs on \
            the same core measure each other: give them cores of their own. Behind a publish the fetches of its \
            connection wait, since answers come in order.

              taskset -c 0 blobd serve --workers 1 --data DIR --socket PATH &
              blobd bench --cpu 1 --socket PATH --connections 16
            """)

    @OptionGroup var socket: SocketOptions

    @Option(
        help: ArgumentHelp(
            "Payload sizes, one run for each: bytes, KiB or MiB, or mix: lognormal around 60 kB, 1 KiB to 4 MiB.",
            valueName: "size,…"))
    var size: SizesText = SizesText([.fixed(1_024)])

    @Option(help: "Connections.")
    var connections: Int = 1

    @Option(help: "Requests in flight on each connection.")
    var pipeline: Int = 1

    @Option(
        help: ArgumentHelp("binary, http, or both: one run for each.", valueName: "dialect,…"))
    var dialect: DialectsText = DialectsText([.binary])

    @Option(
        help: ArgumentHelp(
            "How many of a hundred requests fetch; the others publish payloads like no other. (default: 100)",
            valueName: "percent"))
    var reads: Int?

    @Flag(help: "Only publish: --reads 0.")
    var publish = false

    @Option(
        help: ArgumentHelp(
            "Requests a second, all connections together; without it as many as are answered.",
            valueName: "requests"))
    var rate: Double?

    @Option(help: "Seconds that count, for each run.")
    var seconds: Double = 5

    @Option(help: "Seconds before they count.")
    var warmUp: Double = 1

    @Option(help: "The same seed asks for the same payloads in the same order.")
    var seed: UInt64 = 1

    @Option(
        help: ArgumentHelp(
            "all: every byte. sample: lengths and ends, and every byte of one answer in 16.",
            valueName: "all|sample"))
    var check: CheckText = CheckText(.all)

    @Flag(
        help:
            "Store nothing first: an earlier run with these sizes and this seed did, less than two hours ago."
    )
    var stored = false

    @Option(help: ArgumentHelp("Run on this core.", valueName: "core"))
    var cpu: Int?

    @Option(
        help: ArgumentHelp(
            "Whose processor time is the server's; without it, who listens at the socket.",
            valueName: "pid"))
    var serverPid: [Int32] = []

    @Option(help: .hidden)
    var receiveSize: ByteCountText = ByteCountText(LoadLimits.receiveByteCountUsual)

    @Flag(help: "One JSON document a line and run.")
    var json = false

    func validate() throws {
        try Self.check("--connections", connections, LoadLimits.connections)
        try Self.check("--pipeline", pipeline, LoadLimits.depth)
        try Self.check("--seconds", seconds, LoadLimits.seconds)
        try Self.check("--warm-up", warmUp, LoadLimits.warmUpSeconds)
        if let reads {
            try Self.check("--reads", reads, LoadLimits.readPercent)
            guard !publish || reads == 0 else {
                throw ValidationError("--publish means --reads 0; --reads is \(reads)")
            }
        }
        if let rate { try Self.check("--rate", rate, LoadLimits.rate) }
        if let cpu { try Self.check("--cpu", cpu, LoadLimits.core) }
        guard serverPid.count <= LoadLimits.serverProcessCountMax else {
            throw ValidationError(
                "--server-pid is given \(serverPid.count) times; the limit is \(LoadLimits.serverProcessCountMax)"
            )
        }
    }

    private static func check<Value: Comparable>(
        _ name: String, _ value: Value, _ bounds: ClosedRange<Value>
    ) throws {
        guard bounds.contains(value) else {
            throw ValidationError(
                "\(name) \(value) is not within \(bounds.lowerBound)…\(bounds.upperBound)")
        }
    }

    func run() throws {
        // The client says better than a load could what is wrong with a socket.
        _ = try socket.connect()
        let options = try options()
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
            throw CommandFailure(failure)
        }
        if !json { try StandardOutput.write(report.text()) }
    }

    private func measure(
        _ sizes: PayloadSizes, _ dialect: BenchDialect, _ options: LoadOptions
    ) throws -> LoadFigures {
        let payloads = try LoadPayloads(sizes, seed: seed)
        let run = try LoadRun(dialect.dialect, payloads, options)
        var progress = BenchProgress("\(dialect.rawValue), \(sizes)")
        defer { progress.finish() }
        if options.readPercent > 0, !stored {
            try run.store(
                progress: progress.isShown
                    ? { progress.update(storing: $0, of: payloads.count) } : nil)
        }
        return try run.measure(progress: progress.isShown ? { progress.update($0) } : nil)
    }

    private func options() throws -> LoadOptions {
        var options = LoadOptions(socketPath: try socket.path())
        options.connections = connections
        options.depth = pipeline
        options.seconds = seconds
        options.warmUpSeconds = warmUp
        options.readPercent = publish ? 0 : reads ?? 100
        options.rate = rate
        options.check = check.check
        options.seed = seed
        options.serverProcesses = serverPid
        options.core = cpu
        options.receiveByteCount = receiveSize.byteCount
        return options
    }
}

extension CommandFailure {
    fileprivate init(_ failure: LoadFailure) {
        let status: ExitStatus =
            switch failure.reason {
            case .options: .badUsage
            case .noServer: .noDaemon
            case .server, .wrongBytes, .system: .refused
            }
        self.init(status, failure.description)
    }
}
