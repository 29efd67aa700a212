import Foundation
import TestSupport
import Testing

@Suite(.waiting) struct CommandDocumentTests {
    @Test("COMMANDS.md is what the program says of its commands")
    func commands() throws {
        #expect(
            try Self.pages("--markdown") == Files.text("\(Files.package)/docs/COMMANDS.md"),
            "run Packaging/man-pages --markdown .build/debug/blobd > docs/COMMANDS.md")
    }

    private static func pages(_ option: String) throws -> String {
        let (end, output, errors) = try TestSupport.run([
            "\(Files.package)/Packaging/man-pages", option, DaemonProcess.program,
        ])
        try #require(end == .exited(0), "\(errors)")
        return String(decoding: output, as: UTF8.self)
    }

    /// An example of a help, which the man pages have, too.
    struct Example: CustomTestStringConvertible {
        let command: String
        let session: Session
        var testDescription: String { "blobd \(command)" }

        var needsBucket: Bool {
            session.steps.contains { $0.command.contains("s3://") } || command == "promote"
        }

        static let all = Result {
            let text = try CommandDocumentTests.pages("--examples")
            return Session.all(of: DocumentBlock.all(ofText: text), "help").map {
                Example(
                    command: $0.title.split(separator: " ").last.map(String.init) ?? "",
                    session: $0)
            }
            // The first 3,800 requests of a probe are those of OBJECT-STORE.md.
            .filter { $0.command != "probe" }
        }
    }

    @Test(
        "Each example of a command runs", .enabled(if: isInstalled("jq"), "jq is not here"),
        .disabled(if: hasSanitizer, "the commands are the same"),
        arguments: try table(
            "examples of commands", atLeast: 20, Example.all.get().filter { !$0.needsBucket }))
    func local(example: Example) throws { try run(example) }

    @Test(
        "Each example of a command that needs a bucket runs",
        .enabled(if: isInstalled("jq"), "jq is not here"),
        .enabled(if: ObjectServer.hasMoto, "moto cannot be installed"),
        .disabled(if: hasSanitizer, "the commands are the same"),
        arguments: try table(
            "examples of commands with a bucket", atLeast: 3,
            Example.all.get().filter(\.needsBucket)))
    func ofBucket(example: Example) throws { try run(example) }

    private func run(_ example: Example) throws {
        let (command, needsBucket) = (example.command, example.needsBucket)
        var session = example.session
        let folder = TemporaryFolder()
        mkdir(folder.path("work"), 0o700)
        let shard = "s3://test/examples-\(UInt64.random(in: .min ... .max))"
        let host =
            needsBucket
            ? try StandInHost(
                in: folder, "h", settings: "replicate: \(shard)\n",
                try ObjectServer.shared(.moto).variables) : try StandInHost(in: folder, "h")
        try host.start()
        for (name, file) in [
            ("photo.jpg", "Examples/payloads/photo.jpg"),
            ("chime.wav", "Examples/payloads/chime.wav"),
            ("banner.png", "Examples/payloads/sticker.png"), ("blobd.yaml", "Packaging/blobd.yaml"),
            ("in.png", "Examples/payloads/sticker.png"),
        ] { try folder.write("work/\(name)", Files.read("\(Files.package)/\(file)")) }
        try folder.write("work/ids.txt", Array("42\n43\n".utf8))
        try folder.write("work/campaign.jsonl", Array(#"{"owner":"ann","message":"Sale"}"#.utf8))
        symlink(folder.path("h/var/lib/blobd"), folder.path("work/data"))
        for name in ["work/blobd.sock", "h/run/follower.sock"] {
            symlink(folder.path("h/run/blobd.sock"), folder.path(name))
        }

        host.places +=
            Self.places + [
                ("s3://bucket/blobd", shard), ("2026-12-01T09:30:00Z", "$(date -u +%FT%T.%3NZ)"),
                ("/backups/", folder.path("h/var/backups/")),
            ] + (Self.own[command] ?? [])
        let preparation = Self.preparation + (Self.more[command] ?? [])
        session.steps.insert(
            contentsOf: preparation.map { Session.Step(command: $0, expected: nil) }, at: 0)
        for fault in try session.run(in: folder, environment: host.environment, on: host) {
            Issue.record("\(fault)\n\(host.log)")
        }
    }

    /// What an example supposes.
    private static let preparation =
        ["42", "43"].map {
            """
            blobd publish \($0) --owner ann --message Hi --group weekend --part payload=photo.jpg --part sound=chime.wav \
            --actions '[{"identifier":"yes","title":"Yes"},{"identifier":"like","title":"Like"}]'
            """
        } + [
            "blobd category invitation --actions '[]'", "TOKEN=fYv1:APA91b",
            "gzip -c blobd.yaml >report.json.gz",
        ]

    /// … by the example's command.
    private static let more = [
        "restore": [
            "blobd backup monday.blobd && cp monday.blobd /var/backups",
            "until blobd restore s3://bucket/blobd --verify-only; do sleep 0.1; done",
        ],
        "load": ["blobd dump all.tar"], "token": ["blobd sign --new-key keys"],
        "rm": ["printf '45\\n46\\n' >ids.txt && blobd put --ids-from ids.txt banner.png"],
    ]

    /// What stands for something else, or would not come to an end.
    private static let places = [
        (
            "sha256:3ea3741a…",
            "sha256:3ea3741aa0be81ba351b1c47c0d323e032f09ad32020e22b7f99f27999ea6a30"
        ),
        ("--since Nu3o…", "--since 0"), ("curl --json @- ...", "cat"),
        ("blobd changes ann --since latest", "timeout 1 blobd changes ann --since latest"),
        ("blobd stats --watch 5", "timeout 3 blobd stats --watch 1 || [ $? = 124 ]"),
        ("--socket-group www-data", "--socket-group www-data --check-config"),
        ("/run/other/", "./"),
    ]

    /// … by the example's command.
    private static let own = [
        "mark": [("--if-revision 17", "--if-revision $(blobd stat 42 --json | jq .revision)")],
        "category": [
            ("--if-revision 17", "--if-revision $(blobd category invitation | jq .revision)")
        ],
        "backup": [("--data ./data", "--data $(mktemp -du)")],
        "restore": [("--data ./data", "--data $(mktemp -du)")],
    ]
}
