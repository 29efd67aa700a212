import BlobClient
import BlobJSON
import Glibc
import TestSupport

/// A daemon that this program has started. It is killed when its owner lets go of it, and also when
/// this program dies first (`setpriv --pdeathsig`), so that none is ever left behind.
///
/// Started on the main thread only: the kernel sends the death signal when the thread that started
/// the daemon ends.
struct DaemonUnderTest: ~Copyable {
    /// The process's number.
    let pid: pid_t
    /// Where it listens.
    let socket: String
    private var ending: ProcessEnd?

    /// Starts `blobd serve` for the workbench's store, and does not wait for it.
    ///
    /// `prefix` is a command that runs the daemon in its own place, such as `prlimit`.
    init(
        starting bench: borrowing Workbench, data: String? = nil, prefix: [String] = [],
        arguments: [String] = []
    ) throws {
        socket = bench.socket
        let command =
            ["setpriv", "--pdeathsig", "KILL", "--"] + prefix
            + [bench.blobd, "serve", "--data", data ?? bench.data, "--socket", bench.socket]
            + arguments
        pid = try spawn(command, output: .file(bench.log), errors: .output)
    }

    /// Starts one and waits until it answers.
    static func serving(
        _ bench: borrowing Workbench, data: String? = nil, prefix: [String] = [],
        arguments: [String] = [], withinMilliseconds limit: Int = 120_000
    ) throws -> DaemonUnderTest {
        var daemon = try DaemonUnderTest(
            starting: bench, data: data, prefix: prefix, arguments: arguments)
        try daemon.waitUntilServing(withinMilliseconds: limit)
        return daemon
    }

    /// Waits until the daemon answers a ping. Throws when it ends instead or the time is over.
    mutating func waitUntilServing(withinMilliseconds limit: Int = 120_000) throws {
        let deadline = Clock.milliseconds() + limit
        while !isAnswering() {
            try require(isRunning(), "the daemon did not start: \(ending.map { "\($0)" } ?? "")")
            try require(
                Clock.milliseconds() < deadline, "the daemon does not answer within \(limit) ms")
            Clock.pause(microseconds: 1_000)
        }
    }

    /// Whether it takes a connection and answers a ping on it.
    borrowing func isAnswering() -> Bool {
        guard var connection = try? BlobConnection.connect(to: socket) else { return false }
        return (try? connection.ping()) != nil
    }

    /// A connection with a hello behind it.
    borrowing func connect() throws -> BlobConnection {
        try BlobConnection.connect(to: socket)
    }

    /// Whether the process still runs.
    mutating func isRunning() -> Bool {
        if ending != nil { return false }
        ending = reap(pid, WNOHANG)
        return ending == nil
    }

    /// Throws when the process has ended by itself.
    mutating func requireRunning(_ when: String) throws {
        if !isRunning() {
            throw TestFailure("the daemon ended \(when): \(ending.map { "\($0)" } ?? "")")
        }
    }

    /// Sends SIGKILL and waits for the end.
    mutating func kill() {
        guard isRunning() else { return }
        Glibc.kill(pid, SIGKILL)
        ending = reap(pid)
    }

    /// Sends SIGTERM and waits for the end, which must be exit code 0 within two minutes.
    mutating func stop() throws {
        try requireRunning("before it was asked to stop")
        Glibc.kill(pid, SIGTERM)
        guard let ending = waitForEnd(milliseconds: 120_000) else {
            throw TestFailure("the daemon does not stop within two minutes of SIGTERM")
        }
        try require(ending == .exited(0), "the daemon was asked to stop and ended with \(ending)")
    }

    /// Waits for the process to end by itself; nil when it still runs after the time.
    mutating func waitForEnd(milliseconds: Int) -> ProcessEnd? {
        let deadline = Clock.milliseconds() + milliseconds
        while isRunning(), Clock.milliseconds() < deadline { Clock.pause(microseconds: 5_000) }
        return ending
    }

    deinit {
        if ending == nil {
            Glibc.kill(pid, SIGKILL)
            reap(pid)
        }
    }
}

/// A number of a daemon's statistics.
func statistic(_ name: String, _ connection: inout BlobConnection) throws -> Int {
    let document = try connection.answer(to: .stats).body
    guard case .number(let number)? = try? JSONValue.parse(document.span.bytes)[name],
        let value = number.integer
    else { throw TestFailure("the daemon's counters have no \(name)") }
    return Int(value)
}

/// Runs a command to its end, its words appended to `log`, and says how it ended.
func runToEnd(_ command: [String], log: String) throws -> ProcessEnd {
    reap(try spawn(command, output: .file(log), errors: .output))
}

/// Copies a folder.
func copy(_ folder: String, to copy: String, log: String) throws {
    let end = try runToEnd(["cp", "-a", folder, copy], log: log)
    try require(end == .exited(0), "\(folder) was not copied: \(end)")
}

/// Runs `blobd verify` and throws unless it finds everything in order.
func verify(_ bench: borrowing Workbench, data: String? = nil, _ when: String) throws {
    let command = [bench.blobd, "verify", "--data", data ?? bench.data]
    let ending = try runToEnd(command, log: bench.log)
    try require(ending == .exited(0), "verify \(when) ended with \(ending)")
}
