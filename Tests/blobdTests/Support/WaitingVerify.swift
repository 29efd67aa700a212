import Glibc
import TestSupport

/// A `blobd verify` whose reading process waits, after it has opened the store, for a log that is a FIFO.
final class WaitingVerify {
    private let folder: TemporaryFolder
    private let child: Child
    private var data: String { "\(folder)/data" }
    private var log: String { "\(data)/changes.log" }

    /// Makes a store with the notification `a` whose log is in use.
    static func makeStore(_ folder: TemporaryFolder) throws {
        let daemon = try DaemonProcess(in: folder)
        try require(daemon.put("a", [1, 2, 3]).status == 201, daemon.log)
        daemon.signal(SIGKILL)
        daemon.wait()
    }

    init(_ folder: TemporaryFolder, under wrapper: [String] = []) throws {
        self.folder = folder
        try require(rename("\(folder)/data/changes.log", "\(folder)/log.kept") == 0, "no log")
        mkfifo("\(folder)/data/changes.log", 0o600)
        let command = wrapper + [DaemonProcess.program, "verify", "--data", "\(folder)/data"]
        child = try Child(
            "/usr/bin/env", command, errors: .file("\(folder)/verify.errors"))
    }

    /// The process that reads. Waits until it is there.
    func reader() throws -> pid_t {
        let words = ["blobd", "walk-store", "--data", data].joined(separator: "\0") + "\0"
        let patience = Patience()
        while true {
            for name in Files.names(in: "/proc") {
                guard let pid = pid_t(name), Files.text("/proc/\(name)/cmdline") == words else {
                    continue
                }
                return pid
            }
            try patience.wait(orThrow: "no process reads: \(errors)")
        }
    }

    /// Waits until the store is open, and the log is waited for.
    func waitUntilOpen() throws {
        let pid = try reader()
        let patience = Patience()
        while !Files.text("/proc/\(pid)/wchan").contains("wait_for_partner") {
            try patience.wait(orThrow: "it does not wait for its log: \(errors)")
        }
    }

    /// Puts the log back, for others.
    func restoreLog() { rename("\(folder)/log.kept", log) }

    var errors: String { Files.text("\(folder)/verify.errors") }

    func wait() -> Int32 { child.wait().code }
}
