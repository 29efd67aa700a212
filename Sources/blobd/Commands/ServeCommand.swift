import ArgumentParser
import BlobServer
import BlobStore
import FoundationEssentials
import Glibc
import Logging
import Synchronization

struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the daemon.",
        discussion: """
            Prints one line when it is ready, and logs to standard error. SIGTERM stops it after the answers \
            in progress, a second SIGTERM at once. SIGHUP reloads the configuration.

              blobd serve --data /var/lib/blobd --socket /run/blobd/blobd.sock --socket-group www-data
              blobd serve --config blobd.yaml --print-config
              blobd serve --config blobd.yaml --check-config

            Each setting is a flag, a variable (BLOBD_MAX_PAYLOAD=10MB) and a key of the file (max-payload: \
            10MB). The flag overrides the variable, which overrides the file.

            Times: 500ms, 10s, 15m, 24h, 30d. Sizes: 65536, 512KiB, 64MiB, 2GiB, 10MB.
            """)

    @Option(
        help: .named(
            "file",
            "A YAML file with settings. Default: BLOBD_CONFIG, or \(ServeConfiguration.defaultPath) if that exists."
        ), completion: .file())
    var config: String?

    @Flag(help: "Print each setting, its value and where it is from, and exit.")
    var printConfig = false

    @Flag(
        help: """
            Check the flags, the environment, the file and the signing keys, and exit: 0, or 2 and the \
            mistake. The store and the sockets are not touched.
            """)
    var checkConfig = false

    @Flag(help: "With --print-config: as JSON.")
    var json = false

    @Flag(
        help: """
            Start even if the WAL (changes.log) is missing, truncated, damaged or from another store. \
            Acknowledged changes that were only in it are lost. A valid WAL is replayed.
            """)
    var discardLog = false

    @OptionGroup(title: "Settings")
    var flags: SettingFlags

    func validate() throws {
        try require(printConfig || !json, "--json needs --print-config")
        try require(
            !printConfig || !checkConfig,
            "--print-config checks the configuration, too: give one of them")
    }

    /// Blocks SIGHUP, which would end the process: it stays pending, and reloads the daemon once that runs.
    static func holdReload() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGHUP)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    func run() throws {
        do {
            let configuration = try ServeConfiguration(
                path: config, flags: flags.texts,
                environment: ProcessInfo.processInfo.environment)
            if checkConfig { return try StandardOutput.write(try configuration.check()) }
            let values = try configuration.values()
            var options = try ServeConfiguration.options(of: values)
            options.store.discardsLog = discardLog
            if printConfig {
                return try StandardOutput.write(
                    try ConfigurationReport.text(values, file: configuration.path, json: json))
            }
            try serve(options, configuration)
        } catch let error as ConfigurationError {
            throw CommandFailure(.badUsage, error.description)
        } catch let failure as StartFailure {
            throw CommandFailure(.refused, failure.description)
        }
    }

    private func serve(_ options: DaemonOptions, _ configuration: ServeConfiguration) throws {
        let manager = try ServiceManager()
        let (hasSocket, hasDeviceSocket) = (manager.hasMainSocket, manager.hasDeviceSocket)
        try ServeConfiguration.checkRequired(
            options, hasSocket: hasSocket, hasDeviceSocket: hasDeviceSocket)
        let format = options.logFormat
        LoggingSystem.bootstrap { SharedLevelLogHandler(format.handler($0)) }
        var log = Logger(label: "blobd")
        log.logLevel = options.logLevel
        for name in configuration.strangers {
            log.warning("\(ServeConfiguration.notice(ofStranger: name))")
        }
        let end = try Daemon.run(
            options, log: log, manager: manager,
            reload: {
                try configuration.reload(
                    $0, hasSocket: hasSocket, hasDeviceSocket: hasDeviceSocket)
            }
        ) { line in
            print(line)
            fflush(nil)
        }
        switch end {
        case .stopped: break
        case .outcomeUnknown:
            throw CommandFailure(
                .refused, "the outcome of a commit is unknown: check the disk, then restart")
        case .deposed:
            throw CommandFailure(
                .refused,
                "this store diverged from its shard and must be rebuilt from the bucket; start the daemon again"
            )
        }
    }
}

/// A log handler whose level is shared by all loggers, so that a reload changes it everywhere.
struct SharedLevelLogHandler: LogHandler {
    private static let shared = Atomic<Int>(index(of: .info))
    private var base: any LogHandler

    init(_ base: any LogHandler) {
        self.base = base
        self.base.logLevel = .trace
    }

    var logLevel: Logger.Level {
        get { Logger.Level.allCases[Self.shared.load(ordering: .relaxed)] }
        set { Self.shared.store(Self.index(of: newValue), ordering: .relaxed) }
    }

    private static func index(of level: Logger.Level) -> Int {
        Logger.Level.allCases.firstIndex(of: level) ?? 0
    }

    var metadata: Logger.Metadata {
        get { base.metadata }
        set { base.metadata = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { base[metadataKey: key] }
        set { base[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) { base.log(event: event) }
}
