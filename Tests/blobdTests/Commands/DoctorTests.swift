import Foundation
import Glibc
import TestSupport
import Testing

@testable import blobd

/// `blobd doctor`.
@Suite struct DoctorTests {
    /// The findings of a run, by what was checked.
    private static func findings(
        _ arguments: [String], shell: String = ""
    ) throws -> [String: Finding] {
        let words = ([DaemonProcess.program, "doctor", "--json"] + arguments).map { "'\($0)'" }
        let (_, output, errors) = try run(
            ["/bin/sh", "-c", "\(shell) exec " + words.joined(separator: " ")])
        let value = try JSONSerialization.jsonObject(with: Data(output))
        let list = try #require(value as? [[String: Any]], "\(errors)")
        var findings: [String: Finding] = [:]
        for object in list {
            let check = try #require(object["check"] as? String)
            let state = try #require(Finding.State(rawValue: object["state"] as? String ?? ""))
            let seen = try #require(object["seen"] as? String)
            let advice = object["advice"] as? String
            // What is not well says what to do.
            #expect((advice?.isEmpty == false) == (state != .ok), "\(object)")
            findings[check] = Finding(check: check, state: state, seen: seen, advice: advice)
        }
        return findings
    }

    @Test("A daemon that is well has no problems")
    func well() throws {
        let folder = TemporaryFolder()
        let daemon = try DaemonProcess(in: folder)
        #expect(try daemon.put("1", [1]).status == 201)
        let findings = try Self.findings([
            "--data", daemon.dataPath, "--socket", daemon.socketPath, "--nginx", "/dev/null",
        ])
        for check in ["configuration", "data directory", "store", "socket", "daemon", "publishing"]
        {
            #expect(
                findings[check]?.state == .ok, "\(check): \(String(describing: findings[check]))")
        }
        let text = try blobd(["doctor", "--data", daemon.dataPath, "--socket", daemon.socketPath])
        #expect(text.text.contains("checks, ") && !text.text.contains("\u{1B}"))
    }

    @Test(
        "Ten things wrong are ten findings",
        .enabled(if: getuid() == 0 && access("/dev/shm", W_OK) == 0, "needs root and /dev/shm"))
    func wrong() throws {
        let folder = TemporaryFolder()
        let data = "/dev/shm/blobd-doctor-\(getpid())"
        #expect(mkdir(data, 0o700) == 0)
        defer { try? FileManager.default.removeItem(atPath: data) }
        chmod(data, 0o777)
        try Files.write([1], to: "\(data)/data.mdb")
        chown("\(data)/data.mdb", 12_345, 12_345)
        try Files.write([], to: "\(data)/blobd.died")
        let run = "\(folder)/run"
        mkdir(run, 0o755)
        chmod(run, 0o777)
        try Files.write([], to: "\(run)/s")
        let keys = "\(folder)/keys"
        try Files.write(
            Array("k \(Data(repeating: 1, count: 32).base64EncodedString())\n".utf8), to: keys)
        chmod(keys, 0o644)
        let configuration = """
            data: \(data)
            socket: \(run)/s
            signing-keys: \(keys)
            device-socket: \(folder)/gone/s
            """
        try Files.write(Array(configuration.utf8), to: "\(folder)/blobd.yaml")
        let nginx = "upstream blobd { server unix:/run/other.sock; }"
        try Files.write(Array(nginx.utf8), to: "\(folder)/nginx.conf")
        let findings = try Self.findings(
            ["--config", "\(folder)/blobd.yaml", "--nginx", "\(folder)/nginx.conf"],
            shell: "ulimit -f 100000; ulimit -n 300;")
        for (check, state, words) in [
            ("data directory", Finding.State.problem, "0777"),
            ("store", .problem, "12345"),
            ("file system", .problem, "tmpfs"),
            ("last run", .warning, "blobd.died"),
            ("socket folder", .problem, "0777"),
            ("socket", .problem, "no socket"),
            ("device socket folder", .problem, "No such file"),
            ("signing keys", .problem, "644"),
            ("descriptors", .warning, "300"),
            ("file size", .problem, "ulimit -f"),
            ("daemon", .problem, "\(run)/s"),
            ("nginx", .problem, "server unix:"),
        ] {
            let finding = findings[check]
            #expect(finding?.state == state, "\(check): \(String(describing: finding))")
            #expect(finding?.seen.contains(words) == true, "\(String(describing: finding))")
        }
    }

    @Test("A configuration with a mistake is a problem, and the rest is checked all the same")
    func configuration() throws {
        let folder = TemporaryFolder()
        let daemon = try DaemonProcess(in: folder)
        try Files.write(Array("max-paylaod: 1\n".utf8), to: "\(folder)/blobd.yaml")
        let findings = try Self.findings([
            "--config", "\(folder)/blobd.yaml", "--data", daemon.dataPath, "--socket",
            daemon.socketPath, "--nginx", "/dev/null",
        ])
        #expect(findings["configuration"]?.state == .problem)
        #expect(findings["configuration"]?.seen.contains("max-payload") == true)
        #expect(findings["daemon"]?.state == .ok)
    }

    @Test("nginx's end: the socket, keep-alive, the user")
    func nginx() throws {
        let daemon = try DaemonProcess()
        func findings(_ text: String) throws -> [String: Finding] {
            let path = "\(daemon.folder)/nginx.conf"
            try Files.write(Array(text.utf8), to: path)
            return try Self.findings([
                "--data", daemon.dataPath, "--socket", daemon.socketPath, "--nginx", path,
            ])
        }
        let upstream = "upstream b { server unix:\(daemon.socketPath); keepalive 32; }\n"
        let good = try findings("user root;\n\(upstream)proxy_http_version 1.1;\n")
        #expect(good["nginx"]?.state == .ok && good["nginx keep-alive"] == nil)
        #expect(good["nginx user"]?.state == .ok)
        #expect(try findings(upstream)["nginx keep-alive"]?.state == .warning)
        #expect(try findings("# \(upstream)")["nginx"]?.state == .problem)
        let other = try findings("user nobody;\n\(upstream)")
        #expect(other["nginx user"]?.state == .problem)
    }

    @Test("The innermost mount of a path is found, with its options")
    func mounts() throws {
        let text = """
            20 1 8:1 / / rw,relatime - ext4 /dev/sda rw
            21 20 8:2 / /var rw,nosuid - ext4 /dev/sdb rw,barrier=0
            22 20 8:3 / /var/libx ro - ext4 /dev/sdc rw
            nonsense
            """
        #expect(MountOptions.find("/var/lib/blobd", in: text)?.point == "/var")
        #expect(
            MountOptions.find("/var/lib/blobd", in: text)?.options.contains("barrier=0") == true)
        #expect(MountOptions.find("/home", in: text)?.point == "/")
        #expect(MountOptions.find("/var/libx", in: text)?.options.contains("ro") == true)
        #expect(MountOptions.find("/x", in: "") == nil)
    }
}
