import Foundation
import TestSupport

/// A daemon whose sockets another process holds and passes to it, as systemd does
/// (`Tests/Activator/activator.c`).
final class Activator: @unchecked Sendable {
    let folder: TemporaryFolder
    private let pid: pid_t
    private let control: Int32
    var socketPath: String { folder.path("s") }
    var devicePath: String { folder.path("d") }

    /// The program, compiled once.
    private static let program: String? = {
        let path = "\(Files.products)/activator-for-tests"
        let unfinished = "\(path).\(getpid())"
        let source = "\(Files.package)/Tests/Activator/activator.c"
        let command = ["cc", "-O1", "-Wall", "-D_GNU_SOURCE", "-o", unfinished, source]
        guard (try? run(command))?.end == .exited(0) else { return nil }
        rename(unfinished, path)
        return path
    }()

    static var isAvailable: Bool { program != nil }

    /// - Parameters:
    ///   - arguments: of `blobd serve`, besides `--data`.
    ///   - hasDevices: whether there is a socket for devices, too.
    init(
        _ arguments: [String] = [], hasDevices: Bool = false, folder: TemporaryFolder = .init()
    ) throws {
        self.folder = folder
        let (control, input) = try makeSocketPair()
        self.control = control
        defer { close(input) }
        let sockets = [folder.path("s")] + (hasDevices ? [folder.path("d")] : [])
        guard let program = Self.program else { throw TestFailure("there is no cc") }
        pid = try spawn(
            [program] + sockets
                + ["--", DaemonProcess.program, "serve", "--data", folder.path("data")] + arguments,
            input: input, output: .file(folder.path("statuses")), errors: .file(folder.path("log")),
            environment: ["LISTEN_FDNAMES": hasDevices ? "blobd:devices" : "blobd"])
        // The sockets listen before the daemon is there. A socket's file alone says only that it has a name.
        let patience = Patience()
        while !lines.contains("listening") { try patience.wait(orThrow: "no socket listens") }
    }

    deinit {
        close(control)
        reap(pid)
    }

    var log: String { Files.text(folder.path("log")) }

    /// The statuses of the daemons that have ended, which wrote a line each to the same file at their start.
    var statuses: [String] {
        lines.filter { $0 != "listening" && !$0.hasPrefix("blobd ") }
    }

    private var lines: [String] {
        Files.text(folder.path("statuses")).split(separator: "\n").map(String.init)
    }

    /// Stops the daemon and starts it again, without waiting for it.
    func restart() {
        _ = write(control, "\n", 1)
    }

    /// Stops the daemon, and waits for its end.
    func stop() {
        shutdown(control, Int32(SHUT_WR))
        var info = siginfo_t()
        waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT)
    }
}
