import BlobClient
import FoundationEssentials
import Glibc

/// A daemon that this program has started. It is killed when its owner lets go of it, and also when
/// this program dies first (`setpriv --pdeathsig`), so that none is ever left behind.
///
/// Started on the main thread only: the kernel sends the death signal when the thread that started
/// the daemon ends.
struct DaemonUnderTest: ~Copyable {
    /// How a process ended.
    enum Ending: Sendable, Equatable, CustomStringConvertible {
        case exited(Int32)
        case signalled(Int32)

        var description: String {
            switch self {
            case .exited(let code): "exit code \(code)"
            case .signalled(let number): "signal \(number)"
            }
        }
    }

    /// The process's number.
    let pid: pid_t
    /// Where it listens.
    let socket: String
    private var ending: Ending?

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
        pid = try spawn(command, log: bench.log)
    }

    /// Starts one and waits until it answers.
    static func serving(
        _ bench: borrowing Workbench, data: String? = nil, prefix: [String] = [],
        arguments: [String] = [], withinMilliseconds limit: Int = 30_000
    ) throws -> DaemonUnderTest {
        var daemon = try DaemonUnderTest(
            starting: bench, data: data, prefix: prefix, arguments: arguments)
        try daemon.waitUntilServing(withinMilliseconds: limit)
        return daemon
    }

    /// Waits until the daemon answers a ping. Throws when it ends instead or the time is over.
    mutating func waitUntilServing(withinMilliseconds limit: Int = 30_000) throws {
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
            throw Failure("the daemon ended \(when): \(ending.map { "\($0)" } ?? "")")
        }
    }

    /// Sends SIGKILL and waits for the end.
    mutating func kill() {
        guard isRunning() else { return }
        Glibc.kill(pid, SIGKILL)
        ending = reap(pid, 0)
    }

    /// Sends SIGTERM and waits for the end, which must be exit code 0 within 30 s.
    mutating func stop() throws {
        try requireRunning("before it was asked to stop")
        Glibc.kill(pid, SIGTERM)
        guard let ending = waitForEnd(milliseconds: 30_000) else {
            throw Failure("the daemon does not stop within 30 s of SIGTERM")
        }
        try require(ending == .exited(0), "the daemon was asked to stop and ended with \(ending)")
    }

    /// Waits for the process to end by itself; nil when it still runs after the time.
    mutating func waitForEnd(milliseconds: Int) -> Ending? {
        let deadline = Clock.milliseconds() + milliseconds
        while isRunning(), Clock.milliseconds() < deadline { Clock.pause(microseconds: 5_000) }
        return ending
    }

    deinit {
        if ending == nil {
            Glibc.kill(pid, SIGKILL)
            _ = reap(pid, 0)
        }
    }
}

/// Runs a command to its end, its words appended to `log`, and says how it ended.
func runToEnd(_ command: [String], log: String) throws -> DaemonUnderTest.Ending {
    guard let ending = reap(try spawn(command, log: log), 0) else {
        throw Failure("\(command[0]) was lost")
    }
    return ending
}

/// Runs `blobd verify` and throws unless it finds everything in order.
func verify(_ bench: borrowing Workbench, data: String? = nil, _ when: String) throws {
    let command = [bench.blobd, "verify", "--data", data ?? bench.data]
    let ending = try runToEnd(command, log: bench.log)
    try require(ending == .exited(0), "verify \(when) ended with \(ending)")
}

/// Starts a process whose words go to the end of the file `log`.
func spawn(_ command: [String], log: String) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o644)
    posix_spawn_file_actions_adddup2(&actions, 1, 2)
    var arguments: [UnsafeMutablePointer<CChar>?] = []
    for argument in command { arguments.append(strdup(argument)) }
    arguments.append(nil)
    var environment: [UnsafeMutablePointer<CChar>?] = []
    for setting in ["SWIFT_BACKTRACE=enable=no", "LANG=C"] { environment.append(strdup(setting)) }
    for name in ["PATH", "HOME", "LD_LIBRARY_PATH", "LD_PRELOAD", "TSAN_OPTIONS", "ASAN_OPTIONS"] {
        if let value = getenv(name) {
            environment.append(strdup("\(name)=\(String(cString: value))"))
        }
    }
    environment.append(nil)
    defer { for text in arguments + environment { free(text) } }
    var pid: pid_t = 0
    let code = posix_spawnp(&pid, command[0], &actions, nil, &arguments, &environment)
    guard code == 0 else { throw Failure("\(command[0]) could not be started: \(words(code))") }
    return pid
}

/// Waits for a child (`waitpid`). Nil when it has not ended yet.
private func reap(_ pid: pid_t, _ flags: Int32) -> DaemonUnderTest.Ending? {
    var status: Int32 = 0
    while true {
        let result = waitpid(pid, &status, flags)
        if result == 0 { return nil }
        if result < 0, errno == EINTR { continue }
        break
    }
    // The macros of <sys/wait.h> are not imported: the low seven bits are the signal.
    let number = status & 0x7F
    return number == 0 ? .exited((status >> 8) & 0xFF) : .signalled(number)
}
