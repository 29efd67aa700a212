/// What a run is to do.
public struct LoadOptions: Sendable {
    /// The socket file of the server.
    public var socketPath: String
    /// Connections, all in one thread; within ``LoadLimits/connections``.
    public var connections = 1
    /// Requests in flight on each; within ``LoadLimits/depth``. A server that answers fewer ahead
    /// of what was read answers the others later.
    public var depth = 1
    /// Seconds that count; within ``LoadLimits/seconds``.
    public var seconds = 5.0
    /// Seconds before them; within ``LoadLimits/warmUpSeconds``.
    public var warmUpSeconds = 1.0
    /// How many of a hundred requests fetch; the others publish. Within
    /// ``LoadLimits/readPercent``.
    public var readPercent = 100
    /// In which order the ids of publishes come.
    public var publishOrder = PublishOrder.ascending
    /// Requests a second on all connections together, at times that do not depend on the answers;
    /// nil: every connection asks again as soon as it has an answer. Within ``LoadLimits/rate``.
    public var rate: Double?
    /// Which bytes of the answers are compared.
    public var check = LoadCheck.all
    /// The same seed asks for the same payloads in the same order.
    public var seed: UInt64 = 1
    /// The server's processes, whose processor time is taken; empty: the one that listens at the
    /// socket, as the kernel names it. Give them where another process answers, as with nginx.
    public var serverProcesses: [Int32] = []
    /// The core that the calling thread is put on, for good; nil: wherever it is.
    public var core: Int?

    /// The most bytes that one `recv` may bring; within ``LoadLimits/receiveByteCount``.
    public var receiveByteCount = LoadLimits.receiveByteCountUsual

    /// A run of five seconds after one of warm-up, with one connection and one request in flight.
    public init(socketPath: String) { self.socketPath = socketPath }

    /// Throws a failure that names the first option that is out of its bounds.
    public func validate() throws(LoadFailure) {
        try Self.check("connections", connections, LoadLimits.connections)
        try Self.check("requests in flight", depth, LoadLimits.depth)
        try Self.check("seconds", seconds, LoadLimits.seconds)
        try Self.check("seconds of warm-up", warmUpSeconds, LoadLimits.warmUpSeconds)
        try Self.check("percent of reads", readPercent, LoadLimits.readPercent)
        try Self.check(
            "bytes of one receive", receiveByteCount, LoadLimits.receiveByteCount)
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

/// In which order a run's publishes go to their ids. Each id comes once before any comes again.
public enum PublishOrder: Sendable, Hashable {
    /// One after the other, from the first.
    case ascending
    /// Far from each other, and from an id that the seed chooses: like the ids of real
    /// notifications, which a server finds in many places of its index.
    case scattered
}

/// Which bytes of fetched bodies are compared with what they should be. The length of every body
/// always is.
public enum LoadCheck: String, Sendable, Hashable, Codable, CaseIterable {
    /// Every byte of every body.
    case all
    /// Every byte of one body in 16 of each connection, and the first and last 64 of all others: for
    /// comparisons in which comparing would be most of the generator's work.
    case sample

    static let sampleInterval = 16
    static let sampledEdgeByteCount = 64
}
