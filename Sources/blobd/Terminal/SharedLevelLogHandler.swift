import Logging
import Synchronization

/// A log handler with one level for all loggers, so that a reload changes it everywhere.
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
