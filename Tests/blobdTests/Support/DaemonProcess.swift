import Foundation
import TestSupport

/// A daemon of its own for one test: the built `blobd` next to the test bundle, a
/// temporary folder, a socket.
///
/// It is ready when `init` returns, and killed when the last reference goes.
///
/// Only who shares it with nobody stops it, so its status is never written twice.
final class DaemonProcess: @unchecked Sendable {
    /// The folder with the store, the socket and the log; removed at the end.
    let folder: TemporaryFolder
    var pid: pid_t { child.pid }
    private let child: Child

    var socketPath: String { "\(folder)/s" }
    var dataPath: String { "\(folder)/data" }

    struct StartFailure: Error, CustomStringConvertible {
        let status: Int32
        let log: String
        var description: String { "the daemon ended with \(status): \(log)" }
    }

    /// What a test's clients are given time for: all of it, unless the test is about that. A machine that is slow and busy
    /// may keep them from sending and reading for longer than a daemon waits for its clients.
    private static let patience = [
        "--head-timeout": "1h", "--idle-timeout": "1h", "--rate-window": "1h",
        "--max-unreplicated": "1h",
    ]

    /// Starts a daemon and waits for its ready line. It waits for its clients, and for its bucket, unless `arguments` say
    /// otherwise, or it has a configuration, which flags would precede.
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
        let words = [
            Self.program, "serve", "--data", "\(self.folder)/data", "--socket",
            "\(self.folder)/s",
        ]
        let patience = arguments.contains("--config") ? [:] : Self.patience
        let unsaid = patience.filter { !arguments.contains($0.key) }.flatMap { [$0.key, $0.value] }
        let command =
            "\(shell) exec "
            + (wrapper + words + arguments + unsaid)
            .map { "'" + $0.replacing("'", with: "'\\''") + "'" }.joined(separator: " ")
        child = try Child(
            "/bin/sh", ["-c", command], errors: .file("\(self.folder)/log"))
        child.closeInput()
        guard let line = child.readLine() else { throw StartFailure(status: wait(), log: log) }
        guard line.hasPrefix("blobd ") && line.contains(" ready: socket=") else {
            throw StartFailure(status: -1, log: "its first line is \(line)")
        }
    }

    /// A daemon that does not wait long for its clients, with a payload of the notification `big`. Another one, which waits,
    /// has taken that: a busy machine may keep its publisher from sending.
    static func impatient(
        _ arguments: [String], with payload: [UInt8], shell: String = ""
    ) throws -> DaemonProcess {
        let folder = TemporaryFolder()
        do {
            let daemon = try DaemonProcess(in: folder)
            try require(daemon.put("big", payload).status == 201, "it is not stored")
            try require(daemon.stop() == 0, daemon.log)
        }
        return try DaemonProcess(arguments, in: folder, shell: shell)
    }

    /// What it wrote to standard error.
    var log: String { Files.text("\(folder)/log") }

    /// Sends a signal, unless its end is known.
    func signal(_ number: Int32) { child.kill(number) }

    /// Waits for the end and returns the exit code; 128 and the signal's number for one that was
    /// killed.
    @discardableResult
    func wait() -> Int32 { child.wait().code }

    /// SIGTERM, and the exit code.
    @discardableResult
    func stop() -> Int32 {
        signal(SIGTERM)
        return wait()
    }

    /// A new connection.
    func connect() throws -> RawClient { try RawClient(socketPath) }

    /// Waits until something is so.
    func wait(for what: String, until condition: (DaemonProcess) throws -> Bool) throws {
        let patience = Patience()
        while try !condition(self) {
            try patience.wait(orThrow: "\(what): \(log)")
        }
    }

    /// Waits until it has written some words, after so many bytes of its log.
    func waitForLog(_ words: String, after offset: Int = 0) throws {
        try wait(for: "no \"\(words)\"") {
            String(decoding: $0.log.utf8.dropFirst(offset), as: UTF8.self).contains(words)
        }
    }

    /// Changes a byte of a payload in the file, behind the daemon's back.
    func damage(_ payload: [UInt8]) throws {
        try Files.damage(payload[150_000..<150_064], in: "\(dataPath)/data.mdb")
    }

    /// Replaces a file of the configuration at once, as an editor does, sends SIGHUP, and waits until the log says so.
    func reload(_ path: String, _ text: String, _ words: String) throws {
        // A signal that is still on its way may read the new file, too.
        let before = log.components(separatedBy: words).count
        try replace(path, text)
        signal(SIGHUP)
        try wait(for: "no \"\(words)\"") { $0.log.components(separatedBy: words).count > before }
    }

    /// Replaces a file at once, with its mode.
    func replace(_ path: String, _ text: String) throws {
        var status = stat()
        stat(path, &status)
        try Files.write(Array(text.utf8), to: "\(path).new")
        chmod("\(path).new", status.st_mode & 0o777)
        rename("\(path).new", path)
    }

    /// The program under test.
    static let program = "\(Files.products)/blobd"

    /// Makes a follower the leader. A leader that a busy machine keeps from handing over in its time leads on, and is asked
    /// again.
    func promote() throws {
        try wait(for: "it does not lead") {
            try $0.run("promote", "--timeout", "300").status == 0 || $0.role() == "leader"
        }
    }

    /// Runs a command of `blobd` that finds this daemon by `BLOBD_SOCKET`.
    func run(_ arguments: String..., input: [UInt8]? = nil) throws -> CommandResult {
        try blobd(arguments, socket: socketPath, input: input)
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
