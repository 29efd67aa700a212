import Glibc
import TestSupport
import Testing

@testable import blobd

/// The first minute of a user: a command finds the daemon, and says what keeps it out.
@Suite(.waiting) struct FindingTheDaemonTests {
    @Test("The variable, then the socket of the configuration, then the package's")
    func order() throws {
        let folder = TemporaryFolder()
        let file = try folder.write("blobd.yaml", Array("data: /d\nsocket: /of/file\n".utf8))
        let other = try folder.write("other.yaml", Array("data: /d\n".utf8))
        let broken = try folder.write("broken.yaml", Array("socket: /s\nmax-paylod: 1\n".utf8))
        for (environment, path) in [
            (["BLOBD_SOCKET": "/of/variable", "BLOBD_CONFIG": file], "/of/variable"),
            (["BLOBD_SOCKET": "", "BLOBD_CONFIG": file], "/of/file"),
            (["BLOBD_CONFIG": other], "/run/blobd/blobd.sock"),
            (["BLOBD_CONFIG": broken], "/run/blobd/blobd.sock"),
            (["BLOBD_CONFIG": "/nonexistent"], "/run/blobd/blobd.sock"),
        ] {
            #expect(DaemonSocket.path(in: environment) == path, "\(environment)")
        }
    }

    /// It said "Is it running? Start one" to a user who had no permission.
    @Test(
        "Without permission, the group and how to join it are named",
        .enabled(if: Machine.canChangeUser, "needs root and setpriv"))
    func permission() throws {
        let daemon = try DaemonProcess(["--socket-group", "12345"])
        chmod(daemon.folder.path, 0o755)
        func ping() throws -> String {
            let (end, _, errors) = try run(
                [
                    "/usr/bin/setpriv", "--reuid", PeerTests.user, "--regid", PeerTests.user,
                    "--clear-groups", DaemonProcess.program, "ping",
                ], environment: ["BLOBD_SOCKET": daemon.socketPath])
            #expect(end == .exited(4))
            #expect(errors.hasPrefix("blobd: no permission to connect to \(daemon.socketPath)\n"))
            #expect(!errors.contains("Is it running"))
            return errors
        }
        let errors = try ping()
        #expect(errors.contains("the group 12345, and has the mode 0660"), "\(errors)")
        #expect(errors.contains("sudo usermod -aG 12345 nobody, and log in again"), "\(errors)")
        // The mode, and not the group, keeps everybody out.
        chmod(daemon.socketPath, 0o600)
        #expect(try ping().contains("SocketMode=") && !(try ping().contains("usermod")))
        chmod(daemon.folder.path, 0o700)
        #expect(try ping().contains("may not access \(daemon.folder.path)"))
    }
}
