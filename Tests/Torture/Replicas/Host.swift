import BlobClient
import BlobProtocol
import Glibc
import TestSupport

/// A host of a shard: a folder, and the daemon that is started on it again and again.
///
/// Used on the main thread only, as ``DaemonUnderTest`` is; its socket may be used on any.
final class Host {
    let name: String
    /// The host's own part of a round's folder.
    let bench: Workbench
    /// How often its daemon has exited by itself.
    private(set) var exits = 0
    private let prefix: [String]
    private let arguments: [String]
    private var daemon: DaemonUnderTest?

    /// A host whose daemon is not started.
    ///
    /// - Parameters:
    ///   - flag: `--replicate` or `--follow`.
    ///   - proxy: where it finds the bucket, in place of the server.
    init(
        _ name: String, _ flag: String, of shard: ShardUnderTest, in round: Workbench,
        through proxy: FaultyProxy? = nil, prefix: [String] = [], arguments: [String] = []
    ) {
        self.name = name
        bench = Workbench(name, of: round)
        self.prefix = prefix + (proxy.map { ["env", "AWS_ENDPOINT_URL=\($0.url)"] } ?? [])
        self.arguments = [flag, shard.url, "--advertise", name] + arguments
    }

    var socket: String { bench.socket }
    /// How many lines its daemons have logged, but for those of requests that had to wait: clients cause those.
    var lineCount: Int {
        Files.text(bench.log).split(separator: "\n").count { !$0.hasSuffix("Slow request") }
    }

    // MARK: Its daemon

    /// Whether its daemon runs.
    var isRunning: Bool { daemon?.isRunning() ?? false }

    /// Sends a signal, such as SIGSTOP.
    func signal(_ number: Int32) {
        if let pid = daemon?.pid { Glibc.kill(pid, number) }
    }

    /// Starts the daemon, and does not wait until it serves.
    func begin() throws {
        daemon = nil
        daemon = try DaemonUnderTest(starting: bench, prefix: prefix, arguments: arguments)
    }

    /// Starts the daemon and waits until it serves. One that exits by itself is started again.
    func start(withinMilliseconds limit: Int = 120_000) throws {
        try begin()
        try Clock.wait(
            milliseconds: limit,
            orThrow: "\(name) does not serve within \(limit / 1_000) s of its start"
        ) {
            try keepRunning()
            return isAnswering
        }
    }

    /// Starts a daemon that has exited by itself again, as systemd does.
    func keepRunning() throws {
        guard let isRunning = daemon?.isRunning(), !isRunning else { return }
        exits += 1
        try require(exits < 100, "\(name) exits again and again")
        Clock.pause(microseconds: 100_000)
        try begin()
    }

    /// Sends SIGKILL.
    func kill() {
        daemon?.kill()
        daemon = nil
    }

    /// Sends SIGTERM, and throws unless the daemon stops with exit code 0.
    func stop() throws {
        try daemon?.stop()
        daemon = nil
    }

    /// Copies what is in its folder, at one moment even while its daemon runs.
    func copyData(to folder: String) throws {
        signal(SIGSTOP)
        defer { signal(SIGCONT) }
        Files.remove(folder)
        try copy(bench.data, to: folder, log: bench.log)
    }

    /// Compares every stored byte, after the daemon has stopped.
    func verifyStopped() throws {
        try stop()
        do { try verify(bench, "of \(name)") } catch {
            let lines = Files.text(bench.log).split(separator: "\n").suffix(3)
            throw TestFailure("\(error): \(lines.joined(separator: " / "))")
        }
    }

    // MARK: Asking it

    private var isAnswering: Bool {
        guard var connection = try? BlobConnection.connect(to: socket) else { return false }
        return (try? connection.ping()) != nil || report != nil
    }

    func connect() throws(ClientError) -> BlobConnection { try BlobConnection.connect(to: socket) }

    /// What it says of its role; nil while it does not answer.
    var report: ReplicationReport? {
        guard var connection = try? BlobConnection.connect(to: socket) else { return nil }
        return try? connection.call(.replication)
    }

    /// Has it take the lead.
    func promote(isForced: Bool = false) throws(ClientError) {
        var connection = try connect()
        try connection.call(.promote(isForced: isForced))
    }

    /// Publishes.
    func put(_ id: String, _ bytes: [UInt8], replicated: Bool) throws(ClientError) {
        var connection = try connect()
        connection.awaitsReplication = replicated
        let request = PutRequest(
            id: id, mediaType: "application/octet-stream", lifetime: .seconds(86_400))
        try connection.put(request, bytes.span.bytes)
    }

    /// The payload of a notification; nil when there is none.
    func payload(of id: String) throws(ClientError) -> [UInt8]? {
        var connection = try connect()
        do throws(ClientError) {
            return try connection.get(id).bytes
        } catch .notFound {
            return nil
        }
    }
}

/// Waits until exactly one host leads, all it has is in the bucket, and the others have all of it.
/// Daemons that exit are started again.
///
/// - Returns: the leader, and how long that took in milliseconds.
@discardableResult
func settle(
    _ hosts: [Host], withinSeconds limit: Int, _ when: String
) throws -> (leader: Host, milliseconds: Int) {
    let begin = Clock.milliseconds()
    var leader: Host?
    _ = try Clock.wait(milliseconds: limit * 1_000) {
        for host in hosts { try host.keepRunning() }
        let reports = hosts.map { $0.report }
        let leaders = reports.indices.filter { reports[$0]?.role == "leader" }
        guard leaders.count == 1, let report = reports[leaders[0]],
            let sequence = report.sequence, report.segment ?? 0 > 1,
            sequence == report.shippedSequence,
            reports.allSatisfy({
                ["leader", "follower"].contains($0?.role) && $0?.sequence == sequence
            })
        else { return false }
        leader = hosts[leaders[0]]
        return true
    }
    guard let leader else {
        let words = hosts.map { host in
            guard let report = host.report else { return "\(host.name) does not answer" }
            return
                "\(host.name) is \(report.role) of epoch \(report.epoch ?? 0) at \(report.sequence ?? -1), shipped \(report.shippedSequence ?? -1), lag \(report.lagMilliseconds ?? -1) ms"
        }
        throw TestFailure(
            "\(when): not settled within \(limit) s: \(words.joined(separator: "; "))")
    }
    return (leader, Clock.milliseconds() - begin)
}
