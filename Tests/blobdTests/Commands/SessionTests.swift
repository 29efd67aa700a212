import Foundation
import TestSupport
import Testing

/// Commands as a user types them, with what they print and their exit codes: the files of `Tests/Sessions`, each with a
/// daemon of its own, and the documents' examples, each section with one. `Session` explains how they are written.
@Suite(.waiting) struct SessionTests {
    private static let folder = "\(Files.package)/Tests/Sessions"

    @Test("Each command prints what its session says", arguments: Files.names(in: folder))
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

    private static let sections = ["docs/HTTP.md", "docs/FIRST-PUSH.md"].flatMap(Session.all(in:))

    @Test("The commands of HTTP.md and FIRST-PUSH.md do what they say", arguments: sections.indices)
    func document(section: Int) throws {
        #expect(Self.sections.count >= 8 && Self.sections.flatMap(\.steps).count >= 50)
        for fault in try Self.run(Self.sections[section], []) { Issue.record("\(fault)") }
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
        // What the alias of HTTP.md adds to each curl.
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
