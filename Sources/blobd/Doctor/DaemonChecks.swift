import BlobClient
import BlobServer
import CLinux
import Glibc

/// The running daemon: whether it answers, can publish, and what its counters say.
struct DaemonChecks {
    let path: String
    let options: BlobConnection.Options

    func run() -> [Finding] {
        do {
            var connection = try BlobConnection.connect(to: path, options: options)
            var findings = [Finding.ok("daemon", "it answers at \(path)")]
            do {
                try connection.ping()
                findings.append(.ok("publishing", "a publish can be stored"))
            } catch {
                findings.append(
                    .problem(
                        "publishing", "\(error)",
                        "Publishes are refused; reads continue. See free space, map-size, the quotas and the log."
                    ))
            }
            return findings + counters(try connection.call(.stats))
        } catch {
            return [
                .problem(
                    "daemon", "\(error)",
                    "Start it (systemctl start blobd), or become a user that may connect.")
            ]
        }
    }

    private func counters(_ now: DaemonStatistics) -> [Finding] {
        var findings: [Finding] = []
        if now.version != blobdVersion {
            findings.append(
                .warning(
                    "version", "the daemon is \(now.version ?? "?"), this program \(blobdVersion)",
                    "Restart the daemon after an upgrade."))
        }
        let errors = now.errors ?? [:]
        for (code, words, advice) in [
            ("corrupt", "damaged payloads were met", "Check the disk; run blobd verify."),
            ("full", "publishes found no room", "Raise map-size, or make room on the disk."),
            (
                "too_many_requests", "watchers were refused",
                "Raise max-watchers, or max-watchers-per-owner."
            ),
        ] {
            guard let count = errors[code], count > 0 else { continue }
            findings.append(.warning("errors", "\(words): \(HumanText.count(count))", advice))
        }
        if let jumps = now.clockJumps, jumps > 0 {
            findings.append(
                .warning(
                    "clock jumps", HumanText.count(jumps),
                    "Each pauses expiry for some minutes: see the time service."))
        }
        return findings
    }
}

/// The number of the daemon's process.
enum DaemonNumber {
    /// Nil if none is found.
    static func find(_ options: DaemonOptions) -> Int? {
        let candidates = [lockHolder(of: options.dataPath), listener(at: options.socketPath)]
        return candidates.compactMap { $0 }.first(where: isDaemon)
    }

    /// The process that holds the lock of a store's folder.
    private static func lockHolder(of directory: String) -> Int? {
        guard !directory.isEmpty, let status = SystemFiles.status("\(directory)/blobd.lock"),
            let locks = SystemFiles.text("/proc/locks")
        else { return nil }
        return number(inLocks: locks, ofInode: UInt64(status.st_ino))
    }

    /// The process with a `flock` on an inode, from the text of `/proc/locks`. Its device is not compared: on some
    /// file systems it differs from the one that `stat` gives.
    static func number(inLocks text: String, ofInode inode: UInt64) -> Int? {
        for line in text.split(separator: "\n") {
            // 1: FLOCK  ADVISORY  WRITE 1234 08:01:131 0 EOF
            let words = line.split(separator: " ")
            guard words.count > 5, words[1] == "FLOCK" else { continue }
            if words[5].split(separator: ":").last == "\(inode)" { return Int(words[4]) }
        }
        return nil
    }

    /// The process that listens at a socket; for a passed socket the service manager.
    private static func listener(at socket: String) -> Int? {
        let number = clinux_unix_socket()
        guard number >= 0 else { return nil }
        defer { close(number) }
        var path = socket
        guard path.withUTF8({ clinux_connect(number, $0.baseAddress, $0.count) }) == 0 else {
            return nil
        }
        let process = clinux_peer_process(number)
        return process > 0 ? Int(process) : nil
    }

    private static func isDaemon(_ number: Int) -> Bool {
        SystemFiles.text("/proc/\(number)/comm")?.hasPrefix("blobd") == true
    }
}
