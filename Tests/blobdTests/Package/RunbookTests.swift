import Foundation
import TestSupport
import Testing

/// The commands of the pages about buckets, as they stand there, on hosts that are folders: `a$ …` is one for the host a.
@Suite(
    .enabled(if: ObjectServer.hasMoto, "moto cannot be installed"),
    .disabled(if: hasSanitizer, "the daemons are the same"))
struct RunbookTests {
    @Test("Each command runs, and prints what the document says")
    func runbooks() throws {
        let hosts = try Hosts()
        let chapters = ["docs/REPLICATION.md", "docs/RUNBOOKS.md"].flatMap(Session.all)
        #expect(chapters.flatMap(\.steps).count { $0.host != "" } > 50)
        for chapter in chapters {
            if chapter.title.hasSuffix(" A host is lost") { try hosts.lose("b") }
            try Self.run(chapter, on: hosts)
        }
        // The last chapter's shard has all that was published.
        for host in ["a", "b"] {
            try hosts.wait(for: "not everything is on \(host)") {
                try hosts.run("blobd stat after && blobd stat saved", on: host).end == .exited(0)
            }
        }
    }

    @Test("A shard moves to another host as RECIPES-REPLICATION.md says")
    func move() throws {
        let hosts = try Hosts()
        let chapter = try #require(Session.all(in: "docs/RECIPES-REPLICATION.md").last)
        #expect(chapter.steps.count == 4)
        for (host, key) in [("a", "replicate"), ("b", "follow")] {
            let (end, output) = try hosts.run(
                """
                systemctl stop blobd.socket blobd && rm -rf /var/lib/blobd/* && \
                echo '\(key): s3://bucket/pushes/03' >>/etc/blobd/blobd.yaml
                """, on: host)
            #expect(end == .exited(0), "\(output)")
        }
        #expect(try hosts.run("systemctl start blobd@03", on: "a").end == .exited(0))
        try Self.run(chapter, on: hosts)
    }

    @Test("A probe prints what OBJECT-STORE.md shows")
    func probe() throws {
        let folder = TemporaryFolder()
        mkdir(folder.path("work"), 0o700)
        let server = try ObjectServer.shared(.moto).variables
        let host = try StandInHost(in: folder, "h")
        let key = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].map {
            "\($0.lowercased()) = \(server[$0] ?? "")\n"
        }
        try folder.write("h/etc/credentials", Array(("[default]\n" + key.joined()).utf8))
        host.places += [
            ("https://s3.example.com", server["AWS_ENDPOINT_URL"] ?? ""),
            ("AKIAEXAMPLE", server["AWS_ACCESS_KEY_ID"] ?? ""),
            ("eu-central-1", server["AWS_REGION"] ?? ""),
            ("s3://bucket/blobd", "s3://test/probe-\(UInt64.random(in: .min ... .max))"),
        ]
        var session = try #require(Session.all(in: "docs/OBJECT-STORE.md").first)
        for index in session.steps.indices {
            session.steps[index].expected = session.steps[index].expected?.map {
                $0.replacing(#/\d+\.\d+ ms/#, with: "… ms")
            }
        }
        #expect(session.steps.last?.expected?.count == 8)
        #expect(try session.run(in: folder, environment: host.environment, on: host) == [])
    }

    /// Runs the commands of a chapter, each on its host.
    private static func run(_ chapter: Session, on hosts: Hosts) throws {
        for step in chapter.steps where step.host != "" {
            var (end, output) = try hosts.run(step.command, on: step.host)
            // A leader that a busy machine keeps from handing over in its time leads on, and is asked again.
            let patience = Patience()
            while end != .exited(0), output.contains(" within 10 s") {
                try patience.wait(orThrow: output)
                (end, output) = try hosts.run(step.command, on: step.host)
            }
            let what = "\(chapter.title): \(step.host)$ \(step.command)\n\(output)"
            #expect(end == .exited(0), "\(what)")
            let expected = step.expected ?? []
            let isRight = expected.isEmpty || Session.matches(output, expected)
            #expect(isRight, "\(what)\nexpected: \(expected)")
            guard end == .exited(0) else { throw TestFailure("\(what)\(hosts.logs)") }
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
        return try host.run(command.replacing("2026-12-01T10:00:00+01:00", with: now))
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
