import Foundation
import TestSupport
import Testing

/// The commands of `docs/REPLICATION.md`, as they stand there, on hosts that are folders: `a$ …` is one for the
/// host a.
@Suite(
    .enabled(if: ObjectServer.hasMoto, "moto cannot be installed"),
    .disabled(if: hasSanitizer, "the daemons are the same"))
struct RunbookTests {
    @Test("Each command runs, and prints what the document says")
    func runbooks() throws {
        let hosts = try Hosts()
        let chapters = Session.all(in: "docs/REPLICATION.md")
        #expect(chapters.flatMap(\.steps).count { $0.host != "" } > 40)
        for chapter in chapters {
            if chapter.title == "The leader is lost" { try hosts.lose("a") }
            for step in chapter.steps where step.host != "" {
                let (end, output) = try hosts.run(step.command, on: step.host)
                let what = "\(chapter.title): \(step.host)$ \(step.command)\n\(output)"
                #expect(end == .exited(0), "\(what)")
                let isRight = step.expected.isEmpty || Session.matches(output, step.expected)
                #expect(isRight, "\(what)\nexpected: \(step.expected)")
                guard end == .exited(0) else { throw TestFailure("\(what)\(hosts.logs)") }
            }
        }
        // The last chapter's shard has all that was published.
        for host in ["a", "b"] {
            try hosts.wait(for: "not everything is on \(host)") {
                try hosts.run("blobd stat after && blobd stat saved", on: host).end == .exited(0)
            }
        }
    }
}

/// Three hosts in a folder, with a `systemctl` that starts and stops their daemons.
private final class Hosts {
    private let folder = TemporaryFolder()
    private let shard = "test/runbook-\(UInt64.random(in: .min ... .max))"
    private let environment: [String: String]

    init() throws {
        for host in ["a", "b", "c"] {
            mkdir(folder.path(host), 0o755)
            for name in ["etc", "run", "lib", "lib/blobd"] {
                mkdir(folder.path("\(host)/\(name)"), 0o755)
            }
            // As the package has it, on a host of its own.
            let settings = """
                data: \(folder)/\(host)/lib/blobd
                socket: \(folder)/\(host)/run/blobd.sock
                advertise: host-\(host)

                """
            try folder.write("\(host)/etc/blobd.yaml", Array(settings.utf8))
        }
        mkdir(folder.path("bin"), 0o755)
        try folder.write("bin/systemctl", Array(Self.systemctl.utf8))
        chmod(folder.path("bin/systemctl"), 0o755)
        environment = try ObjectServer.shared(.moto).variables.merging([
            "PATH":
                "\(folder)/bin:\(Files.products):\(ProcessInfo.processInfo.environment["PATH"] ?? "")",
            "TMPDIR": folder.path,
        ]) { $1 }
        for host in ["a", "b", "c"] { _ = try run("systemctl start blobd", on: host) }
    }

    deinit {
        for host in ["a", "b", "c"] { try? lose(host) }
    }

    private static let systemctl = """
        #!/bin/sh
        # start blobd, or stop it with its socket, through which the next client would start it again: $HOST's.
        case "$*" in
            'start blobd')
                : >"$HOST/ready"
                setsid blobd serve --config "$HOST/etc/blobd.yaml" >"$HOST/ready" 2>>"$HOST/log" </dev/null &
                echo $! >"$HOST/pid"
                until grep -q ' ready: ' "$HOST/ready"; do
                    kill -0 "$(cat "$HOST/pid")" 2>/dev/null || { tail -n 3 "$HOST/log"; exit 1; }
                    sleep 0.02
                done ;;
            'stop blobd.socket blobd')
                pid="$(cat "$HOST/pid")"
                kill -TERM "$pid"
                while kill -0 "$pid" 2>/dev/null && [ "$(cut -d' ' -f3 /proc/$pid/stat)" != Z ]; do sleep 0.02; done
                rm -f "$HOST/pid" ;;
            *) exit 5 ;;
        esac

        """

    /// Runs a command of a host's shell, with the host's paths in the place of the document's.
    func run(_ command: String, on host: String) throws -> (end: ProcessEnd, output: String) {
        let home = folder.path(host)
        let own = [
            ("/var/lib/", "\(home)/lib/"), ("/run/blobd/", "\(home)/run/"),
            ("/etc/blobd/", "\(home)/etc/"), ("s3://bucket", "s3://\(shard)"),
            ("2026-12-01T09:30:00Z", Date().formatted(.iso8601)),
        ].reduce(command) { $0.replacing($1.0, with: $1.1) }
        let (end, output, errors) = try TestSupport.run(
            ["timeout", "-k", "10", "300", "/bin/sh", "-c", own],
            environment: environment.merging([
                "HOST": home, "BLOBD_SOCKET": "\(home)/run/blobd.sock",
            ]) { $1 })
        let text = String(decoding: output, as: UTF8.self) + errors
        return (end, text.replacing("s3://\(shard)", with: "s3://bucket"))
    }

    /// Kills a host's daemon.
    func lose(_ host: String) throws {
        let path = folder.path("\(host)/pid")
        guard let pid = pid_t(Files.text(path).trimmingCharacters(in: .whitespacesAndNewlines))
        else { return }
        kill(pid, SIGKILL)
        Files.remove(path)
    }

    /// What the daemons said.
    var logs: String {
        ["a", "b", "c"].map { "\n\($0): " + Files.text(folder.path("\($0)/log")) }.joined()
    }

    func wait(for what: String, until condition: () throws -> Bool) throws {
        let patience = Patience()
        while try !condition() {
            try patience.wait(orThrow: what + logs)
        }
    }
}
