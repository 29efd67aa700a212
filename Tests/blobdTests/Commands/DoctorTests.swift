import Foundation
import Glibc
import TestSupport
import Testing

@testable import blobd

/// `blobd doctor` of what is wrong; what is well is in the session `doctor.txt`.
@Suite(.waiting) struct DoctorTests {
    /// The findings of a run, by what was checked.
    private static func findings(
        _ arguments: [String], shell: String = "", asNobody: Bool = false
    ) throws -> [String: Finding] {
        let user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        let program = (asNobody ? user : []) + [DaemonProcess.program, "doctor", "--json"]
        let words = (program + arguments).map { "'\($0)'" }
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

    @Test(
        "Each thing that is wrong is a finding",
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
        mkdir("\(data)/unreplicated-epoch-3", 0o700)
        let run = "\(folder)/run"
        mkdir(run, 0o755)
        chmod(run, 0o777)
        try Files.write([], to: "\(run)/s")
        let keys = try DeviceKeys.write(in: folder)
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
            ["--config", "\(folder)/blobd.yaml", "--nginx", "\(folder)/nginx.conf"])
        for (check, state, words) in [
            ("data directory", Finding.State.problem, "0777"),
            ("store", .problem, "12345"),
            ("file system", .problem, "tmpfs"),
            ("last run", .warning, "blobd.died"),
            ("changes left out", .warning, "1 folder \(data)/unreplicated-epoch-"),
            ("socket folder", .problem, "0777"),
            ("socket", .problem, "not a socket"),
            ("device socket folder", .problem, "No such file"),
            ("signing keys", .problem, "644"),
            ("daemon", .problem, "\(run)/s"),
            ("nginx", .problem, "server unix:"),
        ] {
            let finding = findings[check]
            #expect(finding?.state == state, "\(check): \(String(describing: finding))")
            #expect(finding?.seen.contains(words) == true, "\(String(describing: finding))")
        }
    }

    /// What it may not see was said not to exist: "No daemon has created it", "Create it: install -d …".
    @Test(
        "A user who may not look is told so, and not what to create",
        .enabled(if: getuid() == 0, "needs root"))
    func closed() throws {
        let folder = TemporaryFolder()
        chmod(folder.path, 0o755)
        mkdir(folder.path("closed"), 0o700)
        let keys = try folder.write("keys", [])
        chmod(keys, 0o600)
        let (data, socket) = (folder.path("closed/data"), folder.path("closed/run/s"))
        let text = "data: \(data)\nsocket: \(socket)\nsigning-keys: \(keys)\n"
        let configuration = try folder.write("blobd.yaml", Array(text.utf8))
        chmod(configuration, 0o644)
        func expect(_ checks: [String], _ arguments: [String]) throws {
            let findings = try Self.findings(
                arguments + ["--nginx", "/dev/null"], asNobody: true)
            for check in checks {
                let finding = findings[check]
                #expect(finding?.state == .warning, "\(check): \(String(describing: finding))")
                #expect(finding?.seen.hasSuffix("Permission denied") == true)
                #expect(finding?.advice == SystemFiles.otherUser)
            }
        }
        let checks = ["data directory", "socket folder", "daemon", "signing keys"]
        try expect(checks, ["--config", configuration])
        chmod(configuration, 0o600)
        try expect(["configuration"], ["--config", configuration])
        mkdir(data, 0o755)
        chmod(data, 0o744)
        chmod(folder.path("closed"), 0o755)
        try expect(["store"], ["--data", data])
    }

    /// The daemon, and nginx, run as another user than doctor.
    @Test(
        "What the daemon's user cannot read, and nginx's not enter, is a problem",
        .enabled(if: getuid() == 0, "needs root"))
    func otherUsers() throws {
        let folder = TemporaryFolder()
        chmod(folder.path, 0o755)
        let keys = try DeviceKeys.write(in: folder)
        let (data, socket) = (folder.path("data"), folder.path("run/s"))
        for path in [data, folder.path("run")] { mkdir(path, 0o700) }
        try folder.write("run/s", [])
        let user = try #require(getpwnam("nobody")).pointee
        for path in [data, socket] { chown(path, user.pw_uid, user.pw_gid) }
        let nginx = "user nobody;\nupstream b { server unix:\(socket); keepalive 32; }\n"
        let text = "data: \(data)\nsocket: \(socket)\nsigning-keys: \(keys)\n"
        let arguments = [
            "--config", try folder.write("blobd.yaml", Array(text.utf8)),
            "--nginx", try folder.write("nginx.conf", Array(nginx.utf8)),
        ]
        let sick = try Self.findings(arguments)
        let ofKeys = sick["signing keys"]
        #expect(ofKeys?.state == .problem && ofKeys?.seen.contains("cannot read \(keys)") == true)
        let ofNginx = sick["nginx user"]
        #expect(ofNginx?.state == .problem && ofNginx?.seen.contains("cannot enter") == true)
        chown(keys, user.pw_uid, user.pw_gid)
        chmod(folder.path("run"), 0o711)
        let well = try Self.findings(arguments)
        #expect(well["signing keys"]?.state == .ok && well["nginx user"]?.state == .ok, "\(well)")
    }

    @Test("nginx's file that cannot be read is not one without a server")
    func noFileOfNginx() throws {
        let findings = try Self.findings(
            ["--data", "/nonexistent", "--socket", "/nonexistent/s", "--nginx", "/nonexistent"])
        #expect(
            findings["nginx"]?.seen == "not checked: /nonexistent: No such file or directory")
    }

    /// Only its unit names it. Nginx was told to use the main socket instead.
    @Test(
        "A device socket that is passed to the daemon is found",
        .enabled(if: Activator.isAvailable, "needs cc"))
    func passedDeviceSocket() throws {
        let folder = TemporaryFolder()
        let keys = try DeviceKeys.write(in: folder)
        func findings(_ activator: Activator, _ socket: String) throws -> [String: Finding] {
            let client = try RawClient(activator.socketPath)
            #expect(try client.request("GET", "/livez").status == 200)
            let nginx = "user root;\nupstream b { server unix:\(socket); keepalive 32; }\n"
            let path = try folder.write("nginx.conf", Array(nginx.utf8))
            let data = activator.folder.path("data")
            return try Self.findings(
                ["--data", data, "--socket", activator.socketPath, "--nginx", path])
        }
        let open = try Activator(["--signing-keys", keys], hasDevices: true)
        let well = try findings(open, open.devicePath)
        #expect(well["device socket"]?.seen.hasPrefix(open.devicePath) == true, "\(well)")
        #expect(well["nginx"]?.state == .ok && well["nginx user"]?.state == .ok, "\(well)")
        let other = try findings(open, "/run/other.sock")["nginx"]
        #expect(other?.state == .problem && other?.seen.contains(open.devicePath) == true)
        let closed = try Activator()
        let advice = try findings(closed, closed.devicePath)["nginx"]?.advice
        #expect(advice?.contains("systemctl enable blobd-devices.socket") == true)
    }

    /// Its own were judged: those of a shell alongside a daemon whose unit has others.
    @Test(
        "The limits are those of the daemon's process, also of one whose sockets are passed",
        .enabled(if: Activator.isAvailable, "needs cc"))
    func limits() throws {
        func descriptors(_ arguments: [String], _ shell: String) throws -> Finding? {
            try Self.findings(arguments + ["--nginx", "/dev/null"], shell: shell)["descriptors"]
        }
        let small = try DaemonProcess(shell: "ulimit -n 300; ulimit -f 100000;")
        let ofSmall = ["--data", small.dataPath, "--socket", small.socketPath]
        #expect(try descriptors(ofSmall, "")?.seen.hasSuffix(": 300") == true)
        let files = try Self.findings(ofSmall + ["--nginx", "/dev/null"])["file size"]
        #expect(files?.state == .problem)
        let usual = try DaemonProcess()
        let ofUsual = ["--data", usual.dataPath, "--socket", usual.socketPath]
        #expect(try descriptors(ofUsual, "ulimit -n 300;")?.seen.hasSuffix(": 300") == false)
        let activator = try Activator()
        #expect(try RawClient(activator.socketPath).request("GET", "/livez").status == 200)
        let passed = ["--data", activator.folder.path("data"), "--socket", activator.socketPath]
        #expect(try descriptors(passed, "ulimit -n 300;")?.seen.hasSuffix(": 300") == false)
        let none = try Self.findings(
            ["--data", "/nonexistent", "--socket", "/nonexistent/s", "--nginx", "/dev/null"],
            shell: "ulimit -n 300;")
        #expect(none["descriptors"] == nil && none["process limits"]?.state == .ok)
    }

    @Test("The holder of a lock is found by the inode")
    func locks() {
        let text = """
            1: POSIX  ADVISORY  WRITE 11 08:01:131 0 EOF
            2: FLOCK  ADVISORY  WRITE 12 08:01:1131 0 EOF
            2: -> FLOCK  ADVISORY  WRITE 14 08:01:131 0 EOF
            3: FLOCK  ADVISORY  WRITE 13 08:01:131 0 EOF
            nonsense
            """
        #expect(DaemonNumber.number(inLocks: text, ofInode: 131) == 13)
        #expect(DaemonNumber.number(inLocks: text, ofInode: 5) == nil)
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
