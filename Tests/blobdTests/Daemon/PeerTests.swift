import Glibc
import TestSupport
import Testing

/// Who may connect. These tests act as another user, which only root can.
@Suite(.waiting, .enabled(if: Machine.canChangeUser, "needs root and setpriv"))
struct PeerTests {
    static let user = "65534"

    /// The status that another user gets from `/healthz`, or 0 when it gets none.
    private func status(_ daemon: DaemonProcess, groups: String = "--clear-groups") throws -> Int {
        let output = "\(daemon.folder)/answer"
        unlink(output)
        _ = try run([
            "/usr/bin/setpriv", "--reuid", Self.user, "--regid", Self.user, groups,
            "/bin/sh", "-c",
            "exec curl -s -o /dev/null -w '%{http_code}' --unix-socket \(daemon.socketPath) http://b/healthz > \(output)",
        ])
        return Int(Files.text(output)) ?? 0
    }

    private func makeDaemon(_ arguments: [String]) throws -> DaemonProcess {
        let daemon = try DaemonProcess(arguments)
        // The other user must reach the socket, and write its answer next to it.
        chmod(daemon.folder.path, 0o777)
        return daemon
    }

    @Test("Without the mode nobody else gets in, with it only who is named")
    func users() throws {
        #expect(try status(try makeDaemon([])) == 0)
        let open = try makeDaemon(["--socket-mode", "0666"])
        #expect(try status(open) == 0)
        #expect(try open.statistic("refused_peers") == 1)
        #expect(open.log.contains("User 65534 may not connect"))
        let named = try makeDaemon(["--socket-mode", "0666", "--allow-uid", Self.user])
        #expect(try status(named) == 200)
    }

    @Test("Members of the socket's group get in, others do not")
    func group() throws {
        let daemon = try makeDaemon(["--socket-group", "12345"])
        var info = stat()
        #expect(lstat(daemon.socketPath, &info) == 0 && info.st_gid == 12_345)
        #expect(try status(daemon) == 0)
        #expect(try status(daemon, groups: "--groups=12345") == 200)
    }
}
