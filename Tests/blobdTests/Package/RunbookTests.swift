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
            if chapter.title.hasSuffix(", The leader is lost") { try hosts.lose("a") }
            for step in chapter.steps where step.host != "" {
                let (end, output) = try hosts.run(step.command, on: step.host)
                let what = "\(chapter.title): \(step.host)$ \(step.command)\n\(output)"
                #expect(end == .exited(0), "\(what)")
                let expected = step.expected ?? []
                let isRight = expected.isEmpty || Session.matches(output, expected)
                #expect(isRight, "\(what)\nexpected: \(expected)")
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

/// Three hosts in a folder.
private final class Hosts {
    private let folder = TemporaryFolder()
    private let shard = "test/runbook-\(UInt64.random(in: .min ... .max))"
    private let hosts: [String: StandInHost]

    init() throws {
        let environment = try ObjectServer.shared(.moto).variables
        let (folder, shard) = (folder, shard)
        hosts = try Dictionary(
            uniqueKeysWithValues: ["a", "b", "c"].map { name in
                let host = try StandInHost(
                    in: folder, name, settings: "advertise: host-\(name)\n", environment)
                host.places.append(("s3://bucket", "s3://\(shard)"))
                try host.start()
                return (name, host)
            })
    }

    /// Runs a command of a host's shell.
    func run(_ command: String, on name: String) throws -> (end: ProcessEnd, output: String) {
        guard let host = hosts[name] else { throw TestFailure("no host \(name)") }
        let now = Date().formatted(.iso8601)
        return try host.run(command.replacing("2026-12-01T09:30:00Z", with: now))
    }

    /// Kills a host's daemon.
    func lose(_ name: String) throws { hosts[name]?.lose() }

    /// What the daemons logged.
    var logs: String { hosts.values.map { "\n\($0.name): \($0.log)" }.joined() }

    func wait(for what: String, until condition: () throws -> Bool) throws {
        let patience = Patience()
        while try !condition() {
            try patience.wait(orThrow: what + logs)
        }
    }
}
