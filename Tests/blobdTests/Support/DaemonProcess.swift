import Glibc

/// A daemon of its own for one test: the built `blobd` that lies beside the test bundle, a
/// temporary folder, a socket.
///
/// It is ready when `init` returns, and killed when the last reference goes.
///
/// Only who shares it with nobody stops it, so its status is never written twice.
final class DaemonProcess: @unchecked Sendable {
    /// The folder with the store, the socket and the log; removed at the end.
    let folder: String
    /// Whether the folder is the caller's, who removes it.
    private let keepsFolder: Bool
    let pid: pid_t
    private let output: Int32
    private(set) var status: Int32?

    var socketPath: String { "\(folder)/s" }
    var dataPath: String { "\(folder)/data" }

    struct StartFailure: Error, CustomStringConvertible {
        let status: Int32
        let log: String
        var description: String { "the daemon ended with \(status): \(log)" }
    }

    /// Starts a daemon and waits for its ready line.
    ///
    /// - Parameters:
    ///   - arguments: added to `serve --data … --socket …`.
    ///   - folder: where; nil for a new one.
    ///   - wrapper: a program that runs the daemon, with its arguments.
    ///   - shell: put before the program, such as `ulimit -n 128;`.
    init(
        _ arguments: [String] = [], in folder: String? = nil, shell: String = "",
        under wrapper: [String] = []
    ) throws {
        self.folder = try folder ?? makeTemporaryFolder()
        keepsFolder = folder != nil
        var ends: [Int32] = [0, 0]
        // A pair of sockets rather than a pipe, because it can be close-on-exec from the start:
        // other tests start programs too.
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            throw TestFailure("socketpair", errno)
        }
        let words = [
            Self.program, "serve", "--data", "\(self.folder)/data", "--socket",
            "\(self.folder)/s",
        ]
        let command =
            "\(shell) exec "
            + (wrapper + words + arguments).map { "'\($0)'" }.joined(separator: " ")
        output = ends[0]
        defer { close(ends[1]) }
        pid = try spawn(
            ["/bin/sh", "-c", command], standardOutput: ends[1],
            standardError: "\(self.folder)/log")
        close(ends[1])
        ends[1] = -1
        guard let line = Self.readLine(ends[0]) else {
            throw StartFailure(status: wait(), log: log)
        }
        guard line.hasPrefix("blobd ") && line.contains(" ready: socket=") else {
            throw StartFailure(status: -1, log: "its first line is \(line)")
        }
    }

    deinit {
        if status == nil {
            kill(pid, SIGKILL)
            _ = waitForEnd(pid)
        }
        close(output)
        if !keepsFolder { removeFolder(folder) }
    }

    /// What it wrote to standard error.
    var log: String { readText("\(folder)/log") }

    /// Sends a signal.
    func signal(_ number: Int32) {
        kill(pid, number)
    }

    /// Waits for the end and returns the exit code; 128 and the signal's number for one that was
    /// killed.
    @discardableResult
    func wait() -> Int32 {
        if let status { return status }
        let code = waitForEnd(pid)
        status = code
        return code
    }

    /// SIGTERM, and the exit code.
    @discardableResult
    func stop() -> Int32 {
        signal(SIGTERM)
        return wait()
    }

    /// A new connection.
    func connect() throws -> RawClient { try RawClient(socketPath) }

    /// The program under test.
    static let program: String = {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        let path = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        let folder = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        // `swift test` runs the bundle through a helper of the toolchain; the bundle's path is then
        // an argument.
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? ""
        let beside = bundle.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        for candidate in [folder, beside] {
            let program = candidate.joined(separator: "/") + "/blobd"
            if access(program, X_OK) == 0 { return program }
        }
        return "blobd-not-found-beside-the-tests"
    }()

    /// Reads up to a line's end; nil when the output ends before one.
    private static func readLine(_ descriptor: Int32) -> String? {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while read(descriptor, &byte, 1) == 1 {
            if byte == 0x0A { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(byte)
        }
        return nil
    }
}

/// Runs a program to its end.
///
/// - Returns: its exit code, and what it wrote to standard error.
func run(_ arguments: [String]) throws -> (code: Int32, error: String) {
    let folder = try makeTemporaryFolder()
    defer { removeFolder(folder) }
    let pid = try spawn(arguments, standardOutput: nil, standardError: "\(folder)/err")
    let code = waitForEnd(pid)
    return (code, readText("\(folder)/err"))
}

/// Starts a program with signals unblocked and the crash reporter off.
private func spawn(
    _ arguments: [String], standardOutput: Int32?, standardError: String
) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    if let standardOutput {
        posix_spawn_file_actions_adddup2(&actions, standardOutput, 1)
    } else {
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    }
    posix_spawn_file_actions_addopen(
        &actions, 2, standardError, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    var pid = pid_t()
    var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
    words.append(nil)
    defer { for word in words { free(word) } }
    var environment: [UnsafeMutablePointer<CChar>?] = [strdup("SWIFT_BACKTRACE=enable=no")]
    for name in ["PATH", "HOME", "LD_LIBRARY_PATH", "LD_PRELOAD", "TSAN_OPTIONS", "ASAN_OPTIONS"] {
        if let value = getenv(name) {
            environment.append(strdup("\(name)=\(String(cString: value))"))
        }
    }
    environment.append(nil)
    defer { for word in environment { free(word) } }
    let code = posix_spawn(&pid, arguments[0], &actions, nil, words, environment)
    guard code == 0 else { throw TestFailure("posix_spawn", code) }
    return pid
}

private func waitForEnd(_ pid: pid_t) -> Int32 {
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    let signal = status & 0x7F
    return signal == 0 ? status >> 8 & 0xFF : 128 + signal
}
