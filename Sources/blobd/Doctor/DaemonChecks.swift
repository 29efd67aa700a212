import BlobClient
import BlobServer

/// The daemon that runs: whether it answers, can publish, and what its counters say.
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
                        "Publishes are refused; reads go on. See free space, map-size, the quotas and the log."
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
