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
            It prints one line when it is ready, logs to standard error, and stops on SIGTERM after \
            finishing its answers. A second SIGTERM ends them.

              blobd serve --data /var/lib/blobd --socket /run/blobd/blobd.sock --socket-group www-data

            Times are written 500ms, 10s, 15m, 24h, 30d; sizes 65536, 512KiB, 64MiB, 2GiB.
            """)

    @Option(help: ArgumentHelp("The folder with the store; made when absent.", valueName: "dir"))
    var data: String

    @Option(help: ArgumentHelp("Where clients connect.", valueName: "path"))
    var socket: String

    @Option(help: ArgumentHelp("The socket's permission bits.", valueName: "octal"))
    var socketMode: ModeText = ModeText(bits: 0o660)

    @Option(
        help: ArgumentHelp(
            "The socket's group. Its members may connect; the mode decides, not --allow-uid.",
            valueName: "group"))
    var socketGroup: GroupText?

    @Option(
        help: ArgumentHelp(
            "A user who may connect, besides root and the daemon's own. Repeat for more.",
            valueName: "uid"))
    var allowUid: [UInt32] = []

    @Option(help: "Threads that serve connections. Without it: one for each core.")
    var workers: Int?

    @Option(help: ArgumentHelp("The longest payload.", valueName: "size"))
    var maxPayload: ByteCountText = ByteCountText(64 << 20)

    @Option(
        help: ArgumentHelp(
            "How long a notification lives that does not say: 30d, or the longest if that is less.",
            valueName: "time"))
    var defaultTtl: DurationText?

    @Option(help: ArgumentHelp("The longest life a publisher may ask for.", valueName: "time"))
    var maxTtl: DurationText = DurationText(seconds: 30 * 86_400)

    @Option(
        help: """
            Connections at once. Sockets that have ended and hold unread pages do not count; there \
            are at most 2,048 of them.
            """)
    var maxConnections: Int = 8_192

    @Option(
        help: ArgumentHelp(
            """
            Memory for bodies on their way in. Bodies that find none wait, up to 16 KiB for 0.5 s, \
            longer ones for 5 s, and are then refused (503).
            """,
            valueName: "size"))
    var bodyMemory: ByteCountText = ByteCountText(64 << 20)

    @Option(
        help: ArgumentHelp(
            "Memory for answers that their clients have not read.", valueName: "size"))
    var answerMemory: ByteCountText = ByteCountText(64 << 20)

    @Option(help: ArgumentHelp("How long a request's head may take.", valueName: "time"))
    var headTimeout: DurationText = DurationText(seconds: 10)

    @Option(help: ArgumentHelp("How long a connection may be idle.", valueName: "time"))
    var idleTimeout: DurationText = DurationText(seconds: 75)

    @Option(
        help: ArgumentHelp(
            "The least speed of bodies and answers, in bytes per second.", valueName: "size"))
    var minRate: ByteCountText = ByteCountText(4_096)

    @Option(help: ArgumentHelp("Over how long that speed is measured.", valueName: "time"))
    var rateWindow: DurationText = DurationText(seconds: 10)

    @Option(help: ArgumentHelp("How long a stop waits for answers under way.", valueName: "time"))
    var drainTimeout: DurationText = DurationText(seconds: 10)

    @Option(help: ArgumentHelp("How often expired payloads are removed.", valueName: "time"))
    var sweepInterval: DurationText = DurationText(seconds: 1)

    @Option(help: "Watchers at once: waits, event streams and watches.")
    var maxWatchers: Int = StoreLimits.watcherCountMaxDefault

    @Option(help: "Watchers of one owner at once.")
    var maxWatchersPerOwner: Int = StoreLimits.watcherCountPerOwnerMaxDefault

    @Option(
        help: "Watchers of one peer at once, by its user. Without it: three quarters of all.")
    var maxWatchersPerPeer: Int?

    @Option(
        help: ArgumentHelp(
            "How long a stream of changes is quiet before it gives a sign of life.",
            valueName: "time"))
    var heartbeat: DurationText = DurationText(seconds: 25)

    @Option(
        help: ArgumentHelp(
            "How long a device may be away and still be told what was deleted meanwhile.",
            valueName: "time"))
    var tombstoneRetention: DurationText = DurationText(seconds: 30 * 86_400)

    @Option(
        help: ArgumentHelp(
            """
            How long payloads that an earlier run may have sent are not freed after its end. Without \
            it: as long as a client of --min-rate takes to read what its socket holds, a minute at \
            least.
            """,
            valueName: "time", visibility: .hidden))
    var lendingGrace: DurationText?

    @Option(
        help: ArgumentHelp(
            "The shortest payload sent by sendfile, uncopied. 0: none, for clients that splice.",
            valueName: "size"))
    var sendfileMin: ByteCountText = ByteCountText(DaemonLimits().linkedByteCountMin)

    @Option(
        help: ArgumentHelp(
            "How long a worker looks for the next request before it sleeps. 0: not at all.",
            valueName: "microseconds"))
    var spin: Int = DaemonLimits().spinMicroseconds

    @Flag(
        help: "Refuse to patch a notification without If-Match, so that no update is lost: 428.")
    var requireIfMatch = false

    @Option(
        help: ArgumentHelp(
            """
            Refuse parts that these devices do not take. ios: images over 10 MB, audio over 5 MB, \
            video over 50 MB.
            """,
            valueName: "profile"))
    var profile: ProfileText?

    @Flag(
        inversion: .prefixedNo,
        help: """
            Answer short changes once they are in a log on disk, and commit up to 100 ms of them \
            together; or commit each batch before it is answered.
            """)
    var writeAheadLog = true

    @Flag(
        help: """
            Start also where the log (changes.log) is missing, cut short, damaged or another store's. \
            Acknowledged changes that were only in it are lost. A log that is in order is used.
            """)
    var discardLog = false

    @Option(help: ArgumentHelp("The most the store's file may grow to.", valueName: "size"))
    var mapSize: ByteCountText = ByteCountText(StoreLimits.mapByteCountDefault)

    @Option(
        help: ArgumentHelp(
            "trace, debug, info, notice, warning, error or critical.", valueName: "level"))
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
                    .refused, "a commit's outcome is unknown: look at the disk, then start again")
            }
        } catch let failure as Daemon.Failure {
            throw CommandFailure(.refused, failure.description)
        }
    }

    /// The options, once each is within its bounds.
    private func checkedOptions() throws(CommandFailure) -> DaemonOptions {
        guard !data.isEmpty else {
            throw CommandFailure(.badUsage, "--data is empty; it names a folder")
        }
        var options = DaemonOptions(dataPath: data, socketPath: socket)
        options.socketMode = socketMode.bits
        options.socketGroup = socketGroup?.id
        options.allowedUserIDs = allowUid
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
        if let lendingGrace {
            limits.givenLendingGraceMilliseconds = try Self.check(
                "--lending-grace", lendingGrace.milliseconds, 0...day)
        }
        limits.linkedByteCountMin = try Self.check(
            "--sendfile-min", sendfileMin.byteCount, 0...1 << 40)
        limits.isLogging = writeAheadLog
        limits.requiresIfMatch = requireIfMatch
        limits.profile = profile?.profile
        limits.spinMicroseconds = try Self.check("--spin", spin, 0...1_000)
        return limits
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
