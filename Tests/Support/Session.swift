/// Commands and what they print, as documents and `Tests/Sessions` show them: a line `$ …` is a command, and the lines
/// below it are what it writes to both outputs. `…` is any text. In the files of `Tests/Sessions` a last line `[3]` is the
/// exit code, if it is not 0, and a line that begins with `# ` is a comment. In a block `sh` of a document each line is a
/// command that succeeds, or continues the one above it, which ends in a backslash.
public struct Session: Sendable {
    /// A command, and what it must print.
    public struct Step: Sendable {
        /// What stands before the dollar sign: the host, in a document of several.
        public var host: String
        /// What is typed.
        public var command: String
        /// The lines that it must print; nil: any, but it must succeed.
        public var expected: [String]? = []

        /// A command, by default of the only host and without output.
        public init(host: String = "", command: String, expected: [String]? = []) {
            (self.host, self.command, self.expected) = (host, command, expected)
        }
    }

    /// For messages.
    public var title: String
    /// In their order.
    public var steps: [Step] = []

    /// The sessions of a document's blocks `console` and `sh`, one for each heading.
    public static func all(in document: String) -> [Session] {
        all(of: DocumentBlock.all(in: document), document)
    }

    /// The sessions of blocks, named after their document.
    public static func all(of blocks: [DocumentBlock], _ document: String) -> [Session] {
        blocks.filter { $0.kind == "console" || $0.kind == "sh" }
            .byHeading.map { heading, blocks in
                var session = Session(title: "\(document), \(heading)", lines: [])
                for block in blocks {
                    session.steps +=
                        block.kind == "sh"
                        ? block.text.replacing("\\\n", with: " ").split(separator: "\n").map {
                            Step(command: String($0), expected: nil)
                        }
                        : Session(title: "", lines: block.lines).steps
                }
                return session
            }
    }

    /// A session of these lines. What comes before the first command is left out.
    public init(title: String, lines: [String]) {
        self.title = title
        for line in lines {
            if let match = line.wholeMatch(of: #/([a-z]?)\$ (.*)/#) {
                steps.append(Step(host: String(match.1), command: String(match.2)))
            } else if !steps.isEmpty {
                steps[steps.count - 1].expected?.append(line)
            }
        }
    }

    /// Runs all commands in one shell, in the folder `work` of a folder. Each one's output goes to a file of its own, so
    /// that what runs in the background cannot end up in another's. A daemon that is started in the background must
    /// listen before the next command, and is stopped at the end.
    ///
    /// - Parameters:
    ///   - tellsCodes: whether an exit code other than 0 is printed after the output of each command.
    ///   - host: the host whose paths replace those of the document.
    /// - Returns: the commands that printed something else, or failed.
    public func run(
        in folder: TemporaryFolder, environment: [String: String], tellsCodes: Bool = false,
        on host: StandInHost? = nil
    ) throws -> [String] {
        var script = "cd \(folder.path("work")) || exit\n"
        for (index, step) in steps.enumerated() {
            let command = host?.command(step.command) ?? step.command
            script += "exec >../output-\(index) 2>&1\n\(command)\n"
            if command.contains(#/(?:blobd serve |Scripts/run ).*&$/#) {
                let socket = command.firstMatch(of: #/--socket (\S+)/#)?.1 ?? "blobd.sock"
                script += "daemons=\"$daemons $!\"; until [ -S \(socket) ]; do sleep 0.02; done\n"
            }
            if tellsCodes || step.expected == nil {
                script += "code=$?; [ $code = 0 ] || echo \"[$code]\"\n"
            }
        }
        script += "[ -z \"$daemons\" ] || kill $daemons\n"
        _ = try TestSupport.run(
            ["timeout", "-k", "5", "900", "/bin/sh", "-c", script], environment: environment)
        return try steps.enumerated().compactMap { index, step in
            let text = String(decoding: try folder.read("output-\(index)"), as: UTF8.self)
            let output = host?.output(text) ?? text
            let isRight =
                step.expected.map { Self.matches(output, $0) }
                ?? !output.contains(#/(?m)^\[\d+\]$/#)
            return isRight ? nil : "\(title): \(step.command)\nprinted:\n\(output)"
        }
    }

    /// Whether a text is as these lines say, where `…` is any text and line ends around it do not count.
    public static func matches(_ text: String, _ lines: [String]) -> Bool {
        func trimmed(_ text: some StringProtocol) -> String {
            let rest = text.drop { $0.isNewline }
            return String(rest.prefix(rest.count - rest.reversed().prefix { $0.isNewline }.count))
        }
        let pieces = trimmed(lines.joined(separator: "\n")).split(
            separator: "…", omittingEmptySubsequences: false)
        let text = trimmed(text)
        guard pieces.count > 1, let first = pieces.first, let last = pieces.last else {
            return text == pieces.first ?? ""
        }
        guard text.hasPrefix(first) else { return false }
        var rest = text.dropFirst(first.count)
        for piece in pieces.dropFirst().dropLast() where !piece.isEmpty {
            guard let found = rest.firstRange(of: piece) else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.hasSuffix(last)
    }
}
