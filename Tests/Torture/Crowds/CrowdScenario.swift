import BlobClient
import Glibc
import TestSupport

/// How many clients a crowd has, and what each of them does.
struct CrowdSize: Sendable {
    var clients: Int
    /// How long it stays, in seconds.
    var seconds = 0
    /// Of what each client sends or asks for.
    var bytes = 0
}

/// A daemon that a crowd comes to.
struct CrowdedDaemon: Sendable {
    let socket: String
    let pid: pid_t
    let seed: UInt64
    let size: CrowdSize
    /// Whether times are reported and not judged.
    let isShort: Bool

    /// A connection with a hello behind it.
    func connect() throws(ClientError) -> BlobConnection { try BlobConnection.connect(to: socket) }

    /// A number of its statistics, asked for on a connection of its own.
    func number(_ name: String) throws -> Int {
        var connection = try connect()
        return try statistic(name, &connection)
    }
}

/// Many clients that take what a daemon has little of: memory, descriptors, places, a processor.
///
/// Each row of the family says what they do. What all have in common is judged by ``CrowdScenario``: the daemon's own
/// memory beside them, that it is there for others, and that it is as before when they have gone.
protocol CrowdKind {
    static var name: String { get }
    static var line: String { get }
    static var details: String { get }
    /// The usual size, and the one with `--short`.
    static var sizes: (usual: CrowdSize, short: CrowdSize) { get }
    /// Connections that are open at the same time.
    static func connectionCount(_ size: CrowdSize) -> Int
    /// Arguments of the daemon.
    static func arguments(_ size: CrowdSize) -> [String]
    /// Descriptors that the daemon may have open.
    static func descriptorCountMax(_ size: CrowdSize) -> Int
    /// By how much the daemon's own memory may grow beside the crowd, and what of it may stay, in bytes; nil: any.
    static func byteCountMax(_ size: CrowdSize, isShort: Bool) -> (beside: Int?, after: Int?)

    init(_ daemon: CrowdedDaemon) throws
    /// Makes what the crowd will ask for, before anything is measured.
    mutating func prepare() throws
    /// Lets the clients come.
    mutating func come() throws
    /// Looks at what must hold while they are there. Returns words about it.
    mutating func stay() throws -> [String]
    /// Lets them go, so far as the end of this value does not.
    mutating func leave() throws
}

extension CrowdKind {
    static func connectionCount(_ size: CrowdSize) -> Int { size.clients }
    static func arguments(_ size: CrowdSize) -> [String] {
        ["--max-connections", "\(connectionCount(size) + 200)"]
    }
    // Besides connections, the daemon keeps some for the spool files of uploads.
    static func descriptorCountMax(_ size: CrowdSize) -> Int { connectionCount(size) + 4_000 }
    mutating func prepare() throws {}
    mutating func leave() throws {}
}

/// A crowd's scenario.
struct CrowdScenario<Row: CrowdKind>: Scenario {
    static var about: About {
        About(
            Row.name, Row.line,
            Row.details + "\n"
                + "With a crowd the daemon's own memory is bounded, and when it has gone, memory, descriptors and\n"
                + "connections are what they were.")
    }

    @Setting(Row.sizes.usual.clients, short: Row.sizes.short.clients, "How many clients.")
    var clients: Int
    @Setting(Row.sizes.usual.seconds, short: Row.sizes.short.seconds, "Seconds that they stay.")
    var seconds: Int
    @Setting(
        Row.sizes.usual.bytes, short: Row.sizes.short.bytes, "Bytes that each sends or asks for.")
    var bytes: Int

    func torture(_ bench: inout Workbench) throws -> [String] {
        let size = CrowdSize(clients: clients, seconds: seconds, bytes: bytes)
        try raiseDescriptorLimit(to: Row.connectionCount(size) + 300)
        let descriptorCountMax = Row.descriptorCountMax(size)
        var daemon = try DaemonUnderTest.serving(
            bench, prefix: ["prlimit", "--nofile=\(descriptorCountMax):\(descriptorCountMax)"],
            arguments: Row.arguments(size))
        let pid = daemon.pid
        var crowd: Row? = try Row(
            CrowdedDaemon(
                socket: daemon.socket, pid: pid, seed: bench.seed, size: size,
                isShort: bench.isShort))
        try crowd?.prepare()
        let before = try ProcessFigures.ownByteCount(of: pid)
        let descriptors = try ProcessFigures.descriptorCount(of: pid)
        let watch = try MemoryWatch(pid)
        try crowd?.come()
        let figures = try crowd?.stay() ?? []
        try daemon.requireRunning("beside the crowd")
        let grown = try watch.finish() - before
        let limits = Row.byteCountMax(size, isShort: bench.isShort)
        try require(
            grown <= limits.beside ?? .max,
            "the daemon's own memory grew by \(mebibytes(grown)); the limit is \(mebibytes(limits.beside ?? 0))"
        )
        try crowd?.leave()
        crowd = nil
        let gone = Clock.milliseconds()
        try require(daemon.isAnswering(), "the daemon does not answer after the crowd has gone")
        let recovery = Clock.milliseconds() - gone
        try require(
            recovery <= (bench.isShort ? 120_000 : 1_000),
            "the daemon answered \(recovery) ms after the crowd had gone")
        var (left, open) = (0, 0)
        try Clock.wait(
            milliseconds: 120_000,
            orThrow:
                "when the crowd has gone \(mebibytes(left)) more are held than before, and \(open) descriptors instead of \(descriptors)"
        ) {
            left = try ProcessFigures.ownByteCount(of: pid) - before
            open = try ProcessFigures.descriptorCount(of: pid)
            return left <= limits.after ?? .max && open <= descriptors + 4
        }
        try daemon.stop()
        try verify(bench, "after the crowd")
        return ["\(size.clients) clients"] + figures + [
            "own memory \(mebibytes(before)), \(mebibytes(grown)) more beside them, "
                + "\(mebibytes(max(0, left))) more after; answered \(recovery) ms after they went"
        ]
    }
}

/// Lets this program have so many descriptors open.
func raiseDescriptorLimit(to count: Int) throws {
    var limit = rlimit(rlim_cur: rlim_t(count), rlim_max: rlim_t(count))
    var now = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &now)
    if now.rlim_cur >= limit.rlim_cur { return }
    limit.rlim_max = max(now.rlim_max, limit.rlim_cur)
    try require(
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0,
        "\(count) descriptors are needed: \(words(errno))")
}
