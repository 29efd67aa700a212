import BlobClient
import BlobServer
import CLinux
import Glibc

struct DaemonChecks {
    let path: String
    /// The daemon that has the store, if it was found.
    let holder: Int?
    let options: BlobConnection.Options

    func run() -> [Finding] {
        do {
            var connection = try BlobConnection.connect(to: path, options: options)
            var fault: ClientError?
            do throws(ClientError) { try connection.ping() } catch { fault = error }
            let advice =
                "Publishes are refused; reads continue. See free space, map-size, the quotas and the log."
            return [
                Finding("daemon", "it answers at \(path)"),
                Finding(
                    "publishing", fault.map { "\($0)" } ?? "a publish can be stored",
                    fault != nil ? .problem : .ok, advice),
            ] + counters(try connection.call(.stats))
        } catch ClientError.noDaemon(_, let code) where code == EACCES || code == EPERM {
            return [.unseen("daemon", path, code, "")]
        } catch {
            let advice = SocketAdvice.lost(holder) ?? "Start it: systemctl start blobd"
            return [Finding("daemon", "\(error)", .problem, advice)]
        }
    }

    private func counters(_ now: DaemonStatistics) -> [Finding] {
        func errors(_ code: String, _ words: String, _ advice: String) -> Finding? {
            guard let count = now.errors?[code], count > 0 else { return nil }
            return Finding("errors", "\(words): \(HumanText.count(count))", .warning, advice)
        }
        let version = Finding(
            "version", "the daemon is \(now.version ?? "?"), this program \(blobdVersion)",
            .warning, "Restart the daemon after an upgrade.")
        let jumps = now.clockJumps ?? 0
        let jumped = Finding(
            "clock jumps", HumanText.count(jumps), .warning,
            "Each pauses expiry for ten minutes, or until a restart: see the time service.")
        let findings = [
            now.version == blobdVersion ? nil : version,
            errors(
                "corrupt", "damaged payloads were found", "Check the disk; run blobd verify."),
            errors(
                "full", "publishes were refused for lack of space",
                "Raise map-size, or free disk space."),
            errors(
                "too_many_requests", "watchers were refused",
                "Raise max-watchers, or max-watchers-per-owner."),
            jumps > 0 ? jumped : nil,
        ]
        return findings.compactMap { $0 }
    }
}

/// Whether nginx's configuration passes requests to this daemon, and keeps connections open.
struct NginxChecks {
    /// nginx's configuration with all included files, as printed by `nginx -T`.
    let text: String
    let options: DaemonOptions

    func run() -> [Finding] {
        // Without comments.
        let plain = text.split(separator: "\n").map { $0.prefix { $0 != "#" } }
            .joined(separator: "\n")
        let device = options.deviceSocketPath
        let sockets = [options.socketPath, device].compactMap { $0 }
        guard let socket = sockets.first(where: { plain.contains("unix:\($0)") }) else {
            return [
                Finding(
                    "nginx",
                    "no `server unix:\(sockets.last ?? "")` in its configuration",
                    .problem,
                    device != nil
                        ? "Let its upstream name this socket: see docs/NGINX.md."
                        : "Open the device socket, and let its upstream name that: see docs/NGINX.md. Under systemd: systemctl enable blobd-devices.socket && systemctl restart blobd"
                )
            ]
        }
        var findings = [Finding("nginx", "it passes requests to \(socket)")]
        if !plain.contains("keepalive ") || !plain.contains("proxy_http_version 1.1") {
            let advice =
                "Three times the work: `keepalive 32;` in the upstream, `proxy_http_version 1.1;` and `proxy_set_header Connection \"\";` in the location."
            findings.append(
                Finding("nginx keep-alive", "each request opens a new connection", .warning, advice)
            )
        }
        if socket == options.socketPath, let device {
            findings.append(
                Finding(
                    "nginx socket", "it uses the main socket", .warning,
                    "The device socket answers only links: let nginx use \(device)."))
        }
        return findings + [user(plain, socket)].compactMap { $0 }
    }

    private func user(_ plain: String, _ socket: String) -> Finding? {
        guard let status = SystemFiles.status(socket) else { return nil }
        var user: String?
        for line in plain.split(separator: "\n") {
            let words = line.split { $0.isWhitespace || $0 == ";" }
            if words.count > 1, words[0] == "user" { user = String(words[1]) }
        }
        // Without the line it is one that nginx was built with.
        guard let user, getpwnam(user) != nil else { return nil }
        let group = SystemFiles.group(status.st_gid)
        let isMember = SystemFiles.isMember(user, of: status.st_gid) || user == "root"
        let folder = SocketFile.folder(of: socket)
        if isMember, let obstacle = Account(name: user)?.obstacle(folder, .enter) {
            return Finding(
                "nginx user", "\(user) cannot enter \(obstacle)", obstacle.state,
                "Every request gets 502: it needs x there, as its user, for its group or for others."
            )
        }
        return Finding(
            "nginx user",
            isMember
                ? "\(user) is in the group \(group)"
                : "\(user) is not in the socket's group \(group)", !isMember ? .problem : .ok,
            socket == options.socketPath
                ? "Every request gets 502. For links and tokens, let nginx use the device socket: see docs/NGINX.md. Only for devices without links: usermod -aG \(group) \(user), and restart nginx."
                : "Every request gets 502: set the socket's group to \(user)'s."
        )
    }
}

enum ListeningSockets {
    /// The paths, as they were bound, of Unix sockets at which a process accepts connections, in the order of its
    /// descriptors. Empty if these cannot be read.
    static func paths(of process: Int) -> [String] {
        guard let table = SystemFiles.text("/proc/net/unix", byteCountMax: 64 << 20) else {
            return []
        }
        let paths = paths(inTable: table)
        return SystemFiles.openFiles(of: process).compactMap { paths[$0] }
    }

    /// The paths of listening sockets in the text of `/proc/net/unix`, by what their descriptors link to.
    private static func paths(inTable text: String) -> [String: String] {
        var paths: [String: String] = [:]
        for line in text.split(separator: "\n") {
            // 0000000000000000: 00000002 00000000 00010000 0001 01 12345 /run/blobd/blobd.sock
            let words = line.split(separator: " ", maxSplits: 7)
            guard words.count == 8, words[3] == "00010000" else { continue }
            paths["socket:[\(words[6])]"] = String(words[7])
        }
        return paths
    }
}

enum DaemonNumber {
    /// The daemon that holds the lock of the store in a directory.
    static func holder(of directory: String) -> Int? {
        guard !directory.isEmpty, let status = SystemFiles.status("\(directory)/blobd.lock"),
            let locks = SystemFiles.text("/proc/locks"),
            let number = number(inLocks: locks, ofInode: UInt64(status.st_ino))
        else { return nil }
        return isDaemon(number) ? number : nil
    }

    /// The process with a `flock` on an inode, from the text of `/proc/locks`. The device is not compared: on some file
    /// systems it differs from that of `stat`.
    static func number(inLocks text: String, ofInode inode: UInt64) -> Int? {
        for line in text.split(separator: "\n") {
            // 1: FLOCK  ADVISORY  WRITE 1234 08:01:131 0 EOF
            let words = line.split(separator: " ")
            guard words.count > 5, words[1] == "FLOCK" else { continue }
            if words[5].split(separator: ":").last == "\(inode)" { return Int(words[4]) }
        }
        return nil
    }

    /// The daemon that listens at a socket; nil also for a passed socket, which the service manager listens at.
    static func listener(at socket: String) -> Int? {
        let number = clinux_unix_socket()
        guard number >= 0 else { return nil }
        defer { close(number) }
        var path = socket
        guard path.withUTF8({ clinux_connect(number, $0.baseAddress, $0.count) }) == 0 else {
            return nil
        }
        let process = Int(clinux_peer_process(number))
        return process > 0 && isDaemon(process) ? process : nil
    }

    /// Commands such as `restore` take the lock, too.
    private static func isDaemon(_ number: Int) -> Bool {
        SystemFiles.text("/proc/\(number)/comm")?.hasPrefix("blobd") == true
            && SystemFiles.text("/proc/\(number)/cmdline")?.split(separator: "\0")
                .contains("serve") == true
    }
}
