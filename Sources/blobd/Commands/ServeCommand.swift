import ArgumentParser
import BlobProtocol
import BlobServer
import BlobStore
import Glibc
import Logging

/// `blobd serve`: runs the daemon.
struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the daemon.",
        discussion: """
            Prints one line when it is ready. Logs to standard error. SIGTERM stops it after the \
            answers in progress. A second SIGTERM stops it at once.

              blobd serve --data /var/lib/blobd --socket /run/blobd/blobd.sock --socket-group www-data

            Times: 500ms, 10s, 15m, 24h, 30d. Sizes: 65536, 512KiB, 64MiB, 2GiB, 10MB.
            """)

    @Option(help: ArgumentHelp("The store's directory. Created when missing.", valueName: "dir"))
    var data: String

    @Option(help: ArgumentHelp("The path of the socket.", valueName: "path"))
    var socket: String

    @Option(help: ArgumentHelp("The socket's permission bits.", valueName: "octal"))
    var socketMode: ModeText = ModeText(bits: 0o660)

    @Option(
        help: ArgumentHelp(
            "The socket's group. Its members may connect: --socket-mode decides, not --allow-uid.",
            valueName: "group"))
    var socketGroup: GroupText?

    @Option(
        help: ArgumentHelp(
            "A user id that may connect, besides root and the daemon's own. Repeatable.",
            valueName: "uid"))
    var allowUid: [UInt32] = []

    @Option(
        help: ArgumentHelp(
            """
            The keys that verify signed links (/d/…): a line "ID BASE64" for each, at least 32 bytes. \
            SIGHUP reads the file again.
            """,
            valueName: "file"))
    var signingKeys: String?

    @Option(
        help: ArgumentHelp(
            "Put signed links into pushes (richUrl): the address of your site, such as https://push.example.com.",
            valueName: "url"))
    var linkBase: String?

    @Option(
        help: ArgumentHelp(
            "Maximum TTL of the links in pushes. Default: that of the notification.",
            valueName: "time"))
    var linkTtl: DurationText?

    @Option(
        help: ArgumentHelp(
            "A second socket, for nginx: it answers signed links and /livez, and nothing else.",
            valueName: "path"))
    var deviceSocket: String?

    @Option(help: ArgumentHelp("The device socket's permission bits.", valueName: "octal"))
    var deviceSocketMode: ModeText = ModeText(bits: 0o660)

    @Option(
        help: ArgumentHelp(
            "The device socket's group: nginx's. Its members may connect.", valueName: "group"))
    var deviceSocketGroup: GroupText?

    @Option(help: "Worker threads. Default: one per core.")
    var workers: Int?

    @Option(help: ArgumentHelp("Maximum payload size.", valueName: "size"))
    var maxPayload: ByteCountText = ByteCountText(64 << 20)

    @Option(
        help: ArgumentHelp(
            "Default TTL (30d, or --max-ttl if that is less).",
            valueName: "time"))
    var defaultTtl: DurationText?

    @Option(help: ArgumentHelp("Maximum TTL.", valueName: "time"))
    var maxTtl: DurationText = DurationText(seconds: 30 * 86_400)

    @Option(
        help: """
            Maximum number of connections. Closed connections with unread pages do not count; their \
            limit is 2,048.
            """)
    var maxConnections: Int = 8_192

    @Option(
        help: ArgumentHelp(
            """
            Memory for request bodies. A body that finds none waits: 0.5 s up to 16 KiB, 5 s above. \
            Then it is refused (503).
            """,
            valueName: "size"))
    var bodyMemory: ByteCountText = ByteCountText(64 << 20)

    @Option(
        help: ArgumentHelp(
            "Memory for unread answers.", valueName: "size"))
    var answerMemory: ByteCountText = ByteCountText(64 << 20)

    @Option(help: ArgumentHelp("Maximum time for the head of a request.", valueName: "time"))
    var headTimeout: DurationText = DurationText(seconds: 10)

    @Option(help: ArgumentHelp("Maximum idle time of a connection.", valueName: "time"))
    var idleTimeout: DurationText = DurationText(seconds: 75)

    @Option(
        help: ArgumentHelp(
            "Minimum rate of bodies and answers, in bytes per second.", valueName: "size"))
    var minRate: ByteCountText = ByteCountText(4_096)

    @Option(help: ArgumentHelp("The window over which --min-rate is measured.", valueName: "time"))
    var rateWindow: DurationText = DurationText(seconds: 10)

    @Option(
        help: ArgumentHelp("Maximum time for the answers in progress at a stop.", valueName: "time")
    )
    var drainTimeout: DurationText = DurationText(seconds: 10)

    @Option(help: ArgumentHelp("Interval between removals of expired payloads.", valueName: "time"))
    var sweepInterval: DurationText = DurationText(seconds: 1)

    @Option(help: "Maximum number of watchers: waiting calls, event streams and watches.")
    var maxWatchers: Int = StoreLimits.watcherCountMaxDefault

    @Option(help: "Maximum number of watchers of one owner.")
    var maxWatchersPerOwner: Int = StoreLimits.watcherCountPerOwnerMaxDefault

    @Option(
        help: "Maximum number of watchers of one peer, by its user id. Default: 3/4 of all.")
    var maxWatchersPerPeer: Int?

    @Option(
        help: ArgumentHelp(
            "Heartbeat interval of event streams and watches.",
            valueName: "time"))
    var heartbeat: DurationText = DurationText(seconds: 25)

    @Option(
        help: ArgumentHelp(
            "How long deletions are remembered. An older cursor must resync.",
            valueName: "time"))
    var tombstoneRetention: DurationText = DurationText(seconds: 30 * 86_400)

    @Option(
        help: ArgumentHelp(
            """
            Free space that stays allocated in data.mdb: this, or 1/24 of the space in use. More \
            goes back to the file system.
            """,
            valueName: "size"))
    var keepFree: ByteCountText = ByteCountText(DaemonLimits().freeAllocatedByteCountMin)

    @Option(
        help: ArgumentHelp(
            """
            How long payloads that an earlier run may have sent are kept after its end. Default: \
            the time in which a client reads a full socket at --min-rate, at least a minute.
            """,
            valueName: "time", visibility: .hidden))
    var zeroCopyGrace: DurationText?

    @Option(
        help: ArgumentHelp(
            "Minimum size for zero-copy send (sendfile). 0 disables it, for clients that splice.",
            valueName: "size"))
    var sendfileMin: ByteCountText = ByteCountText(DaemonLimits().linkedByteCountMin)

    @Option(
        help: ArgumentHelp(
            "Busy-poll before blocking, in µs (0 disables).",
            valueName: "microseconds"))
    var spin: Int = DaemonLimits().spinMicroseconds

    @Flag(
        help: "Refuse a PATCH of a notification without If-Match (428): no lost updates.")
    var requireIfMatch = false

    @Option(
        help: ArgumentHelp(
            """
            Refuse parts that are too large for these devices. ios: images over 10 MB, audio over \
            5 MB, video over 50 MB.
            """,
            valueName: "profile"))
    var profile: ProfileText?

    @Flag(
        inversion: .prefixedNo,
        help: """
            Acknowledge short changes when they are in the write-ahead log (WAL), and commit them \
            within 100 ms. Without the WAL each batch is committed before it is acknowledged.
            """)
    var writeAheadLog = true

    @Flag(
        help: """
            Start even if the WAL (changes.log) is missing, truncated, damaged or from another store. \
            Acknowledged changes that were only in it are lost. A valid WAL is replayed.
            """)
    var discardLog = false

    @Option(help: ArgumentHelp("Maximum size of the store's file.", valueName: "size"))
    var mapSize: ByteCountText = ByteCountText(StoreLimits.mapByteCountDefault)

    @Option(
        help: ArgumentHelp(
            "Log level: trace, debug, info, notice, warning, error or critical.", valueName: "level"
        ))
    var logLevel: LogLevelText = LogLevelText(level: .info)

    mutating func run() throws {
        let options = try checkedOptions()
        LoggingSystem.bootstrap { StreamLogHandler.standardError(label: $0) }
        var log = Logger(label: "blobd")
        log.logLevel = logLevel.level
        do {
            let end = try Daemon.run(options, log: log) { line in
                print(line)
                fflush(nil)
            }
            guard case .stopped = end else {
                throw CommandFailure(
                    .refused, "the outcome of a commit is unknown: check the disk, then restart")
            }
        } catch let failure as Daemon.Failure {
            throw CommandFailure(.refused, failure.description)
        }
    }

    /// The options, once each is within its bounds.
    private func checkedOptions() throws(CommandFailure) -> DaemonOptions {
        guard !data.isEmpty else {
            throw CommandFailure(.badUsage, "--data must not be empty")
        }
        var options = DaemonOptions(dataPath: data, socketPath: socket)
        options.socketMode = socketMode.bits
        options.socketGroup = socketGroup?.id
        options.allowedUserIDs = allowUid
        options.deviceSocketPath = deviceSocket
        options.deviceSocketMode = deviceSocketMode.bits
        options.deviceSocketGroup = deviceSocketGroup?.id
        options.signingKeyPath = signingKeys
        if linkBase != nil, signingKeys == nil {
            throw CommandFailure(
                .badUsage, "--link-base signs links: give --signing-keys, too")
        }
        if deviceSocket != nil, signingKeys == nil {
            throw CommandFailure(
                .badUsage, "--device-socket answers signed links: give --signing-keys, too")
        }
        options.workerCount = try Self.check(
            "--workers", workers ?? Self.coreCount, 1...DaemonOptions.workerCountMax)
        options.mapByteCountMax = try Self.check("--map-size", mapSize.byteCount, 1 << 20...1 << 46)
        options.discardsLog = discardLog
        options.limits = try checkedLimits()
        return options
    }

    private func checkedLimits() throws(CommandFailure) -> DaemonLimits {
        let day = 86_400_000
        var limits = DaemonLimits()
        limits.payloadByteCountMax = try Self.check(
            "--max-payload", maxPayload.byteCount, 1...StoreLimits.payloadByteCountMax)
        limits.ttlSecondsMax = Int64(
            try Self.check("--max-ttl", maxTtl.milliseconds / 1_000, 1...36_500 * 86_400))
        limits.defaultTTLSeconds = Int64(
            try Self.check(
                "--default-ttl",
                defaultTtl.map { $0.milliseconds / 1_000 }
                    ?? min(30 * 86_400, Int(limits.ttlSecondsMax)),
                1...Int(limits.ttlSecondsMax)))
        limits.connectionCountMax = try Self.check(
            "--max-connections", maxConnections, 1...1_000_000)
        limits.bodyMemoryByteCountMax = try Self.check(
            "--body-memory", bodyMemory.byteCount,
            StoreLimits.payloadInMemoryByteCountMax...1 << 40)
        limits.answerMemoryByteCountMax = try Self.check(
            "--answer-memory", answerMemory.byteCount, 1 << 20...1 << 40)
        limits.headMilliseconds = try Self.check(
            "--head-timeout", headTimeout.milliseconds, 1...day)
        limits.idleMilliseconds = try Self.check(
            "--idle-timeout", idleTimeout.milliseconds, 1...day)
        limits.rateMin = try Self.check("--min-rate", minRate.byteCount, 0...1 << 30)
        limits.rateWindowMilliseconds = try Self.check(
            "--rate-window", rateWindow.milliseconds, 1...day)
        limits.drainMilliseconds = try Self.check(
            "--drain-timeout", drainTimeout.milliseconds, 0...day)
        limits.sweepMilliseconds = try Self.check(
            "--sweep-interval", sweepInterval.milliseconds, 1...day)
        limits.watcherCountMax = try Self.check("--max-watchers", maxWatchers, 0...1_000_000)
        limits.watcherCountPerOwnerMax = try Self.check(
            "--max-watchers-per-owner", maxWatchersPerOwner, 0...1_000_000)
        if let maxWatchersPerPeer {
            limits.watcherCountPerPeerMax = try Self.check(
                "--max-watchers-per-peer", maxWatchersPerPeer, 0...1_000_000)
        }
        limits.heartbeatMilliseconds = try Self.check(
            "--heartbeat", heartbeat.milliseconds, 1...day)
        limits.tombstoneRetentionMilliseconds = Int64(
            try Self.check(
                "--tombstone-retention", tombstoneRetention.milliseconds, 0...36_500 * day))
        if let zeroCopyGrace {
            limits.explicitZeroCopyGraceMilliseconds = try Self.check(
                "--zero-copy-grace", zeroCopyGrace.milliseconds, 0...day)
        }
        limits.freeAllocatedByteCountMin = try Self.check(
            "--keep-free", keepFree.byteCount, 0...1 << 46)
        limits.linkedByteCountMin = try Self.check(
            "--sendfile-min", sendfileMin.byteCount, 0...1 << 40)
        limits.isLogging = writeAheadLog
        limits.requiresIfMatch = requireIfMatch
        limits.linkBase = try linkBase.map(Self.checkedBase)
        limits.linkTTLSeconds = try linkTtl.map { (text) throws(CommandFailure) in
            Int64(try Self.check("--link-ttl", text.milliseconds / 1_000, 1...36_500 * 86_400))
        }
        limits.profile = profile?.profile
        limits.spinMicroseconds = try Self.check("--spin", spin, 0...1_000)
        return limits
    }

    /// An address that a path can follow.
    private static func checkedBase(_ text: String) throws(CommandFailure) -> String {
        let isRight =
            (text.hasPrefix("https://") || text.hasPrefix("http://")) && !text.hasSuffix("/")
            && text.utf8.count <= 512 && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        guard isRight else {
            throw CommandFailure(
                .badUsage,
                "--link-base is \(text); it must begin with https:// or http://, not end with /, and have at most 512 bytes of ASCII"
            )
        }
        return text
    }

    /// Refuses a value out of its bounds, naming flag, value and limits. Times are in milliseconds,
    /// lifetimes in seconds, sizes in bytes.
    private static func check(
        _ flag: String, _ value: Int, _ bounds: ClosedRange<Int>
    ) throws(CommandFailure) -> Int {
        guard bounds.contains(value) else {
            throw CommandFailure(
                .badUsage,
                "\(flag) is \(value); it must be \(bounds.lowerBound) to \(bounds.upperBound)")
        }
        return value
    }

    /// The cores that are online (`_SC_NPROCESSORS_ONLN`).
    private static var coreCount: Int {
        min(max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))), DaemonOptions.workerCountMax)
    }
}

/// A level of the log on the command line.
struct LogLevelText: ExpressibleByArgument {
    let level: Logger.Level

    init(level: Logger.Level) {
        self.level = level
    }

    init?(argument: String) {
        guard let level = Logger.Level(rawValue: argument) else { return nil }
        self.level = level
    }

    /// The level's name.
    var defaultValueDescription: String { level.rawValue }
}
