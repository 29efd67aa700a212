import Foundation
import TestSupport
import Testing

/// `docs/HTTP.md`, line by line: its commands are run as they stand there, each section with a fresh
/// daemon, and what comes must be what stands below them.
@Suite(.waiting) struct CurlTests {
    @Test func thePageHasLinesForEverything() throws {
        let sections = try Self.sections()
        #expect(sections.count >= 8)
        #expect(sections.flatMap(\.steps).count >= 60)
    }

    @Test(arguments: try Self.sections())
    func everyLineDoesWhatThePageSays(section: Section) throws {
        try Self.run(section)
    }

    /// A command, which may have several lines, and what it must print.
    struct Step: Sendable {
        var command: String
        var expected: [String] = []
    }

    struct Section: Sendable, CustomTestStringConvertible {
        var title: String
        var steps: [Step] = []

        var testDescription: String { title }
    }

    /// The steps of all blocks below each heading. A block is marked `console`, a command begins
    /// with `$ `.
    private static func sections() throws -> [Section] {
        try DocumentBlock.all(in: "docs/HTTP.md", kind: "console").byHeading.map {
            title, blocks in
            var section = Section(title: title)
            for line in blocks.flatMap(\.lines) {
                if line.hasPrefix("$ ") {
                    section.steps.append(Step(command: "\(line.dropFirst(2))"))
                } else {
                    let step = section.steps.count - 1
                    try #require(step >= 0, "output before any command: \(line)")
                    section.steps[step].expected.append(line)
                }
            }
            return section
        }
    }

    /// Runs a section in one shell. Each command's output goes to a file of its own, so that what
    /// runs in the background cannot end up in another's.
    private static func run(_ section: Section) throws {
        let daemon = try DaemonProcess()
        let folder = daemon.folder
        let files = FileManager.default
        try files.createSymbolicLink(
            atPath: folder.path("blobd.sock"), withDestinationPath: daemon.socketPath)
        for name in ["photo.jpg", "chime.wav"] {
            try files.createSymbolicLink(
                atPath: folder.path(name),
                withDestinationPath: "\(Files.package)/Examples/payloads/\(name)")
        }
        var script = ""
        for (index, step) in section.steps.enumerated() {
            script += "exec >output-\(index) 2>&1\n\(step.command)\n"
        }
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = ["-c", script]
        shell.currentDirectoryURL = URL(fileURLWithPath: folder.path)
        shell.standardInput = FileHandle.nullDevice
        var environment = ProcessInfo.processInfo.environment
        environment["PATH"] = "\(Files.products):\(environment["PATH"] ?? "")"
        shell.environment = environment
        try shell.run()
        shell.waitUntilExit()
        for (index, step) in section.steps.enumerated() {
            let output = String(decoding: try folder.read("output-\(index)"), as: UTF8.self)
            #expect(
                matches(output, step.expected.joined(separator: "\n")),
                "\(section.title): \(step.command)\nprinted:\n\(output)")
        }
        withExtendedLifetime(daemon) {}
    }

    /// Whether a text is what stands in the page, where `…` is any text and line ends around it do
    /// not count.
    private static func matches(_ text: String, _ pattern: String) -> Bool {
        let text = text.trimmingCharacters(in: .newlines)
        let pieces = pattern.trimmingCharacters(in: .newlines).components(separatedBy: "…")
        guard pieces.count > 1, let first = pieces.first, let last = pieces.last else {
            return text == pieces.first
        }
        guard text.hasPrefix(first) else { return false }
        var rest = text.dropFirst(first.count)
        for piece in pieces.dropFirst().dropLast() where !piece.isEmpty {
            guard let found = rest.range(of: piece, options: .literal) else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.hasSuffix(last)
    }
}
