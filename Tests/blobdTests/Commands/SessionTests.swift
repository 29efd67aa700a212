import Foundation
import TestSupport
import Testing

/// Commands as a user types them, with what they print and their exit codes: the files of `Tests/Sessions`, each with a
/// daemon of its own, and the documents' examples, each section with one. `Session` explains how they are written.
@Suite(.waiting) struct SessionTests {
    private static let folder = "\(Files.package)/Tests/Sessions"

    @Test(
        "Each command prints what its session says",
        arguments: try table("Tests/Sessions", atLeast: 12, Files.names(in: folder)))
    func commands(file: String) throws {
        var lines = Files.text("\(Self.folder)/\(file)").split(
            separator: "\n", omittingEmptySubsequences: false
        ).map(String.init).filter { !$0.hasPrefix("# ") }
        var flags: [String]? = []
        if lines[0].hasPrefix("daemon: ") {
            let words = lines.removeFirst().split(separator: " ").dropFirst().map(String.init)
            flags = words == ["none"] ? nil : words
        }
        let session = Session(title: file, lines: lines)
        #expect(session.steps.count > 3, "the file was not read")
        for fault in try Self.run(session, flags, tellsCodes: true) { Issue.record("\(fault)") }
    }

    /// Documents whose blocks `console` and `sh` are run, and whether they are about a host with the package.
    /// `RunbookTests` runs REPLICATION.md and those parts of RUNBOOKS.md that need several.
    private static let documents = [
        ("docs/PUSH.md", false), ("docs/HTTP.md", false), ("docs/CLIENTS.md", true),
        ("docs/CONFIGURATION.md", true), ("docs/FIRST-PUSH.md", true), ("docs/MONITORING.md", true),
        ("docs/OPERATING.md", true), ("docs/RUNBOOKS.md", true),
        ("docs/TROUBLESHOOTING.md", true), ("README.md", true),
    ]

    private static let sections = Result {
        try documents.flatMap { path, isOfHost in
            try table("commands of \(path)", atLeast: 1, Session.all(in: path)).map {
                (session: prepared($0, of: path), isOfHost: isOfHost)
            }
        }
    }

    private static func prepared(_ session: Session, of path: String) -> Session {
        var session = session
        // These build for minutes: ReadmeTests checks that they exist.
        session.steps.removeAll {
            $0.command.contains(#/^(\./)?(Scripts/(?!run )|Benchmarks/)/#) || $0.host != ""
        }
        if path == "docs/RUNBOOKS.md" {
            session.steps.insert(
                Session.Step(command: "blobd backup blobd-2026-11-24.blobd", expected: nil), at: 0)
        }
        if path == "docs/CONFIGURATION.md" {
            session.steps.insert(Session.Step(command: "unset BLOBD_SOCKET"), at: 0)
        }
        if path == "README.md" {
            for index in session.steps.indices {
                session.steps[index].expected = session.steps[index].expected?.map {
                    $0.replacing(#/\d{4}-\d\d-\d\dT[\d:.]+Z|workers=\d/#, with: "…")
                }
            }
        }
        return session
    }

    @Test(
        "The commands of the documents do what they say",
        arguments: try table("sections with commands", atLeast: 25, sections.get().indices))
    func document(section: Int) throws {
        let sections = try Self.sections.get()
        #expect(sections.flatMap(\.session.steps).count >= 100)
        let (session, isOfHost) = sections[section]
        for fault in try isOfHost ? Self.runOnHost(session) : Self.run(session, []) {
            Issue.record("\(fault)")
        }
    }

    @Test("Each command and flag that a document names exists")
    func names() throws {
        var helps: [String: String] = [:]
        var count = 0
        for name in Files.names(in: "\(Files.package)/docs") where name.hasSuffix(".md") {
            for use in Files.text("\(Files.package)/docs/\(name)").matches(
                of: #/(?m)(?:^|[`\/ \$(])blobd ([a-z]+)( [^`\n|;&>#)]*)?/#)
            {
                let (command, rest) = (String(use.1), use.2 ?? "")
                for flag in rest.matches(of: #/ (--[a-z-]+)/#).map({ String($0.1) }) {
                    count += 1
                    if helps[command] == nil {
                        helps[command] = try blobd([command, "--help"]).text
                    }
                    let exists = helps[command]?.contains(flag) == true
                    #expect(exists, "\(name): \(use.0)")
                }
            }
        }
        #expect(count > 60)
    }

    /// Runs a session on a host with the package.
    private static func runOnHost(_ session: Session) throws -> [String] {
        let folder = TemporaryFolder()
        mkdir(folder.path("work"), 0o700)
        let host = try StandInHost(in: folder, "h", ["TZ": "UTC"])
        try host.start()
        let port = try ObjectServer.freePort()
        let today = Date().formatted(.iso8601.year().month().day())
        let group = getgrgid(getgid()).map { String(cString: $0.pointee.gr_name) } ?? ""
        host.places += [
            ("2026-11-24", today), ("localhost:8081", "localhost:\(port)"),
            ("backend.py 8081", "backend.py \(port)"), ("group blobd", "group \(group)"),
            ("-aG blobd www-data", "-aG \(group) www-data"),
        ]
        for (name, target) in [
            ("photo.jpg", "Examples/payloads/photo.jpg"), ("Examples", "Examples"),
            ("blobd_OLD_amd64.deb", "README.md"),
        ] { symlink("\(Files.package)/\(target)", folder.path("work/\(name)")) }
        try folder.write("work/blobd.yaml", Files.read("\(Files.package)/Packaging/blobd.yaml"))
        // A clone, as `Scripts/run` leaves it; it builds for minutes, and is checked elsewhere.
        for name in ["Scripts", ".build", ".build/release"] {
            mkdir(folder.path("work/\(name)"), 0o755)
        }
        symlink("\(Files.products)/blobd", folder.path("work/.build/release/blobd"))
        let run = "exec \"$BLOBD\" serve --data ./data --socket ./blobd.sock\n"
        chmod(try folder.write("work/Scripts/run", Array("#!/bin/sh\n\(run)".utf8)), 0o755)
        let faults = try session.run(in: folder, environment: host.environment, on: host)
        return faults.isEmpty ? [] : faults + [host.log]
    }

    /// - Parameter flags: the daemon's; nil: there is none.
    private static func run(
        _ session: Session, _ flags: [String]?, tellsCodes: Bool = false
    ) throws -> [String] {
        let folder = TemporaryFolder()
        mkdir(folder.path("work"), 0o700)
        for (name, byte) in [("keys", "AB"), ("old", "CD")] {
            let keys = "\(name == "keys" ? "new" : "old") \(String(repeating: byte, count: 22))\n"
            chmod(try folder.write(name, Array(keys.utf8)), 0o600)
        }
        let daemon = try flags.map { flags in
            try DaemonProcess(flags.map { $0.replacing("$FOLDER", with: folder.path) }, in: folder)
        }
        for (name, target) in [
            ("blobd.sock", folder.path("s")), ("data", folder.path("data")),
            ("photo.jpg", "\(Files.package)/Examples/payloads/photo.jpg"),
            ("chime.wav", "\(Files.package)/Examples/payloads/chime.wav"),
        ] { symlink(target, folder.path("work/\(name)")) }
        // What the alias of PUSH.md adds to each curl.
        try folder.write(".curlrc", Array("silent\nunix-socket = blobd.sock\n".utf8))
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let faults = try session.run(
            in: folder,
            environment: [
                "PATH": "\(Files.products):\(path)",
                "BLOBD_SOCKET": daemon == nil ? "/nonexistent/s" : folder.path("s"),
                "CURL_HOME": folder.path,
            ], tellsCodes: tellsCodes)
        withExtendedLifetime(daemon) {}
        return faults
    }
}
