import Foundation
import TestSupport
import Testing

/// The units of the package.
@Suite(.waiting) struct UnitTests {
    private static func unit(_ name: String) -> String {
        Files.text("\(Files.package)/Packaging/systemd/\(name)")
    }

    @Test("The instance unit is confined as the unit is")
    func instance() throws {
        func confinement(_ name: String) throws -> Substring {
            let text = Self.unit(name)
            let start = try #require(text.range(of: "AmbientCapabilities="))
            let end = try #require(text.range(of: "[Install]"))
            return text[start.lowerBound..<end.lowerBound]
        }
        #expect(try confinement("blobd.service") == confinement("blobd@.service"))
    }

    /// `systemctl reload` of a broken file exited with 0, and only the log said that nothing had changed.
    @Test(
        "A reload checks the configuration of the start before the signal",
        arguments: ["blobd.service", "blobd@.service"])
    func reload(name: String) throws {
        let lines = Self.unit(name).split(separator: "\n").map(String.init)
        let start = try #require(lines.first { $0.hasPrefix("ExecStart=") })
        let reloads = lines.filter { $0.hasPrefix("ExecReload=") }.map { $0.dropFirst(11) }
        #expect(reloads.count == 2)
        #expect(reloads.first == start.dropFirst(10) + " --check-config")
        #expect(reloads.last?.contains("kill -HUP $MAINPID") == true)
    }

    /// A deposed store whose bucket refused connections exited five times in less than ten seconds, and was not started
    /// again when the bucket was back.
    @Test(
        "systemd does not give up restarting the daemon",
        arguments: ["blobd.service", "blobd@.service"])
    func restarts(name: String) throws {
        let text = Self.unit(name)
        let end = try #require(text.range(of: "[Service]"))
        #expect(text[..<end.lowerBound].contains("\nStartLimitIntervalSec=0\n"))
        #expect(text[end.upperBound...].contains("\nRestart=on-failure\n"))
    }

    /// `enable --now` of it failed alongside a running daemon. A restart of the daemon opens it first, and a stop of
    /// the main socket closes it, so that no client starts the daemon again.
    @Test("The socket of devices is opened before the daemon starts, and closed with the main one")
    func deviceSocket() {
        let lines = Self.unit("blobd-devices.socket").split(separator: "\n")
        for line in ["PartOf=blobd.socket", "WantedBy=blobd.service", "Service=blobd.service"] {
            #expect(lines.contains { $0 == line }, "\(line)")
        }
    }

    @Test(
        "systemd finds no fault with the units, and the exposure that SECURITY.md names",
        .enabled(if: access("/usr/bin/systemd-analyze", X_OK) == 0, "needs systemd-analyze"),
        arguments: ["blobd.service", "blobd@.service", "blobd-backup.service"])
    func exposure(name: String) throws {
        let path = "\(Files.package)/Packaging/systemd/\(name)"
        let (end, output, errors) = try run([
            "systemd-analyze", "security", "--offline=true", "--threshold=6", path,
        ])
        #expect(
            end == .exited(0), "\(String(decoding: output.suffix(200), as: UTF8.self))\(errors)")
    }

    @Test("The backup unit makes a backup, then deletes old ones; one that fails deletes nothing")
    func backup() throws {
        let folder = TemporaryFolder()
        let daemon = try DaemonProcess(in: folder)
        mkdir(folder.path("backups"), 0o700)
        for (name, age) in [("blobd-old.blobd", 10), ("blobd-new.blobd", 1), ("notes", 10)] {
            let path = try folder.write("backups/\(name)", [])
            let date = Date(timeIntervalSinceNow: -86_400 * Double(age))
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
        }
        // As systemd starts them: one after the other, each if the one before succeeded.
        let lines = Self.unit("blobd-backup.service").split(separator: "\n")
        let commands = lines.filter { $0.hasPrefix("ExecStart") }.map {
            $0.drop { $0 != "=" }.dropFirst().replacing("%%", with: "%")
                .replacing("/usr/bin/blobd", with: DaemonProcess.program)
                .replacing("-name blobd-*.blobd", with: "-name 'blobd-*.blobd'")
        }
        #expect(commands.count == 2)
        func start(_ socket: String) throws -> [String] {
            _ = try run(
                ["/bin/sh", "-c", commands.joined(separator: " && ")],
                environment: [
                    "FOLDER": folder.path("backups"), "KEEP_DAYS": "7", "BLOBD_SOCKET": socket,
                    "PATH": "/usr/bin:/bin",
                ])
            return Files.names(in: folder.path("backups")).sorted()
        }
        #expect(try start("/nonexistent/s") == ["blobd-new.blobd", "blobd-old.blobd", "notes"])
        let names = try start(daemon.socketPath)
        #expect(names.count == 3 && !names.contains("blobd-old.blobd"), "\(names)")
        let made = try #require(names.first { $0.hasPrefix("blobd-2") })
        let restored = try blobd([
            "restore", folder.path("backups/\(made)"), "--data", folder.path("restored"),
        ])
        #expect(restored.status == 0, "\(restored.text)")
    }
}
