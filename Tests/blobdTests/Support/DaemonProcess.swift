import Glibc
import TestSupport

/// A daemon of its own for one test: the built `blobd` that lies beside the test bundle, a
/// temporary folder, a socket.
///
/// It is ready when `init` returns, and killed when the last reference goes.
///
/// Only who shares it with nobody stops it, so its status is never written twice.
final class DaemonProcess: @unchecked Sendable {
    /// The folder with the store, the socket and the log; removed at the end.
    let folder: TemporaryFolder
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
        _ arguments: [String] = [], in folder: TemporaryFolder? = nil, shell: String = "",
        under wrapper: [String] = []
    ) throws {
        self.folder = folder ?? TemporaryFolder()
        let (output, childOutput) = try makeSocketPair()
        self.output = output
        let words = [
            Self.program, "serve", "--data", "\(self.folder)/data", "--socket",
            "\(self.folder)/s",
        ]
        let command =
            "\(shell) exec "
            + (wrapper + words + arguments)
            .map { "'" + $0.replacing("'", with: "'\\''") + "'" }.joined(separator: " ")
        do {
            defer { close(childOutput) }
            pid = try spawn(
                ["/bin/sh", "-c", command], output: .descriptor(childOutput),
                errors: .file("\(self.folder)/log"))
        }
        guard let line = Self.readLine(output) else {
            throw StartFailure(status: wait(), log: log)
        }
        guard line.hasPrefix("blobd ") && line.contains(" ready: socket=") else {
            throw StartFailure(status: -1, log: "its first line is \(line)")
        }
    }

    deinit {
        if status == nil {
            kill(pid, SIGKILL)
            reap(pid)
        }
        close(output)
    }

    /// What it wrote to standard error.
    var log: String { Files.text("\(folder)/log") }

    /// Sends a signal.
    func signal(_ number: Int32) {
        kill(pid, number)
    }

    /// Waits for the end and returns the exit code; 128 and the signal's number for one that was
    /// killed.
    @discardableResult
    func wait() -> Int32 {
        if let status { return status }
        let code = reap(pid).code
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
    static let program = "\(Files.products)/blobd"

    /// Runs a command of `blobd` that finds this daemon by `BLOBD_SOCKET`.
    func run(_ arguments: String..., input: [UInt8]? = nil) throws -> CommandResult {
        try blobd(arguments, socket: socketPath, input: input)
    }

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

/// What came of a command of `blobd`.
struct CommandResult {
    var status: Int32
    var output: [UInt8]
    var errors: String

    var text: String { String(decoding: output, as: UTF8.self) }
}

/// Runs `blobd` as a user runs it, to its end. Its standard input is empty, or a pipe with `input`.
func blobd(
    _ arguments: [String], socket: String? = nil, input: [UInt8]? = nil
) throws -> CommandResult {
    let (end, output, errors) = try run(
        [DaemonProcess.program] + arguments, input: input,
        environment: socket.map { ["BLOBD_SOCKET": $0] } ?? [:])
    if case .killed(let signal) = end {
        throw TestFailure("blobd \(arguments) ended by signal \(signal)")
    }
    return CommandResult(status: end.code, output: output, errors: errors)
}
