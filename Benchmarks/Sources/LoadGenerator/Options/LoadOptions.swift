/// The options of a run.
public struct LoadOptions: Sendable {
    /// The socket file of the server.
    public var socketPath: String
    /// The number of connections, all in one thread; within ``LoadLimits/connections``.
    public var connections = 1
    /// Requests in flight on each connection; within ``LoadLimits/depth``.
    public var depth = 1
    /// The measured seconds; within ``LoadLimits/seconds``.
    public var seconds = 5.0
    /// The seconds of warm-up; within ``LoadLimits/warmUpSeconds``.
    public var warmUpSeconds = 1.0
    /// The percentage of fetches; the other requests publish. Within ``LoadLimits/readPercent``.
    public var readPercent = 100
    /// The ids of publishes, and their order.
    public var publishOrder = PublishOrder.ascending
    /// Whether each publish has an owner: as many owners as payloads, in turn.
    public var hasOwners = false
    /// Whether each connection publishes to a new id, fetches that, and so on, instead of ``readPercent``.
    public var pairs = false
    /// Connections that wait for the publishes to one owner, which one more connection publishes, each when all have
    /// learned of the one before, instead of ``connections``; 0: none. Within ``LoadLimits/watchers``.
    public var watchers = 0
    /// Requests per second on all connections together, at fixed times; nil: a closed loop. Within ``LoadLimits/rate``.
    public var rate: Double?
    /// Which bytes of the answers are compared.
    public var check = LoadCheck.all
    /// The same seed requests the same payloads in the same order.
    public var seed: UInt64 = 1
    /// The server's processes, whose processor time is measured; empty: the process that listens at the socket. Set it
    /// if other processes answer, as with nginx.
    public var serverProcesses: [Int32] = []
    /// The core to which the calling thread is permanently pinned; nil: none.
    public var core: Int?
    /// Asked about every 50 ms whether to end the run with ``LoadFailure/Reason/stopped``; nil: it is never ended.
    public var isStopped: (@Sendable () -> Bool)?

    /// A run of five seconds after one second of warm-up, with one connection and one request in flight.
    public init(socketPath: String) { self.socketPath = socketPath }

    /// Throws for the first option that is out of bounds.
    public func validate() throws(LoadFailure) {
        try Self.check("connections", connections, LoadLimits.connections)
        try Self.check("requests in flight", depth, LoadLimits.depth)
        try Self.check("seconds", seconds, LoadLimits.seconds)
        try Self.check("seconds of warm-up", warmUpSeconds, LoadLimits.warmUpSeconds)
        try Self.check("percent of reads", readPercent, LoadLimits.readPercent)
        try Self.check("number of watchers", watchers, LoadLimits.watchers)
        let isPlain = !pairs && watchers == 0
        guard isPlain || pairs != (watchers > 0) && depth == 1 && rate == nil else {
            throw LoadFailure(
                .options,
                "pairs and watchers exclude each other, a rate, and more than one request in flight"
            )
        }
        if let rate { try Self.check("requests per second", rate, LoadLimits.rate) }
        if let core { try Self.check("core", core, LoadLimits.core) }
        try Self.check(
            "number of server processes", serverProcesses.count,
            0...LoadLimits.serverProcessCountMax)
    }

    private static func check<Value: Comparable>(
        _ name: String, _ value: Value, _ bounds: ClosedRange<Value>
    ) throws(LoadFailure) {
        guard bounds.contains(value) else {
            throw LoadFailure(
                .options,
                "\(name) is \(value); it must be \(bounds.lowerBound) to \(bounds.upperBound)")
        }
    }
}

/// The ids of publishes: as many as payloads, each used once before any is used again, or new ones.
public enum PublishOrder: Sendable, Hashable {
    /// In order, starting with the first.
    case ascending
    /// Far from each other, like real ids in a server's index. The seed selects the first.
    case scattered
    /// Ids that nobody has used, far from each other.
    case new
}

/// Which bytes of fetched bodies are compared with the payloads. The length of every body is always checked.
public enum LoadCheck: String, Sendable, Hashable, Codable, CaseIterable {
    /// Every byte of every body.
    case all
    /// Every byte of one body in 16 of each connection, and the first and last 64 of all others: for measurements in
    /// which comparing would be most of the generator's work.
    case sample

    static let sampleInterval = 16
    static let sampledEdgeByteCount = 64
}

/// All limits of the load generator.
public enum LoadLimits {
    /// Connections of a run.
    public static let connections = 1...8_192
    /// Requests in flight on one connection.
    public static let depth = 1...1_024
    /// Bytes in one payload.
    public static let payloadByteCount = 1...(64 << 20)
    /// Distinct payloads of a run.
    public static let payloadCount = 1...100_000
    /// The total of all payloads of a run, in bytes, if their number is not given.
    public static let storedByteCountMax = 256 << 20
    /// Distinct payloads of a run, if their number is not given.
    public static let payloadCountUsual = 16...1_000
    static let storeNanosecondsWithoutAnswerMax: Int64 = 60_000_000_000
    /// The measured seconds.
    public static let seconds = 0.01...86_400.0
    /// The seconds of warm-up.
    public static let warmUpSeconds = 0.0...3_600.0
    /// Connections that wait for events.
    public static let watchers = 0...8_192
    /// Requests per second at a fixed rate.
    public static let rate = 1.0...50_000_000.0
    /// The number of a core.
    public static let core = 0...1_023
    /// The most requests of a fixed rate that were never sent whose wait is recorded.
    public static let overdueRecordedMax = 10_000_000
    /// The percentage of fetches.
    public static let readPercent = 0...100
    /// Bytes in the head of one answer.
    public static let answerHeadByteCountMax = 32 << 10
    /// Bytes of a fetch, and of a publish without its body.
    public static let requestByteCountMax = 8_192
    /// Bytes after the body of a publish.
    public static let publishTrailerByteCountMax = 64
    /// The most bytes of one `recv`: more than a Unix socket usually holds, and less than a core's second-level cache.
    /// A payload of 1 MiB costs the generator a tenth more with 64 KiB, and no less with 1 MiB.
    static let receiveByteCount = 256 << 10
    /// The most server processes whose time is measured.
    public static let serverProcessCountMax = 64
}
