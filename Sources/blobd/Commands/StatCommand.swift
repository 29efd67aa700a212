import ArgumentParser
import BlobClient

/// `blobd stat`: describes a notification.
struct StatCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stat",
        abstract: "Show a notification.",
        discussion: """
              blobd stat 42
              blobd stat 42 --json | jq -r '.parts[].digest'
            """)

    @Argument(help: ArgumentHelp("The notification's id.", valueName: "id"))
    var id: String

    @Flag(help: "Print the record as JSON.")
    var json = false

    @OptionGroup var socket: SocketOptions

    func run() throws {
        var connection = try socket.connect()
        let call = try DaemonCall.stat(id)
        let answer = try naming(id) { try connection.answer(to: call) }
        guard !json else { return try StandardOutput.writeLine(answer.body) }
        try StandardOutput.write(Self.text(try call.read(answer), now: wallClockMilliseconds()))
    }

    static func text(_ record: NotificationRecord, now: Int64) -> String {
        var lines: [(String, String)] = [("id", record.id)]
        if let owner = record.owner { lines.append(("owner", HumanText.line(owner))) }
        if let app = record.app { lines.append(("app", HumanText.line(app))) }
        if let title = record.title { lines.append(("title", HumanText.line(title))) }
        if let message = record.message {
            lines.append(("message", HumanText.line(message, characterCountMax: 200)))
        }
        if let richType = record.richType { lines.append(("rich type", HumanText.line(richType))) }
        if let category = record.category { lines.append(("category", HumanText.line(category))) }
        if let group = record.group { lines.append(("group", HumanText.line(group))) }
        if !record.platforms.isEmpty {
            lines.append(("platforms", HumanText.line(record.platforms.joined(separator: ", "))))
        }
        if let host = record.targetHost { lines.append(("host", HumanText.line(host))) }
        if let state = Self.state(record) { lines.append(("state", state)) }
        lines.append(("created", record.createdAt))
        lines.append(("expires", record.expiresAt + Self.remaining(record.expiresAt, now: now)))
        lines.append(("revision", HumanText.count(record.revision)))
        var text = ""
        for (title, value) in lines {
            text += title + String(repeating: " ", count: 10 - title.count) + value + "\n"
        }
        guard !record.parts.isEmpty else { return text }
        var parts = TextTable([
            ("PART", .left), ("TYPE", .left), ("BYTES", .right), ("STORED", .right),
            ("DIGEST", .left),
        ])
        for part in record.parts {
            parts.append([
                part.name, part.mediaType, HumanText.count(part.byteCount),
                HumanText.count(part.storedByteCount) + (part.coding == "gzip" ? " gzip" : ""),
                part.digest,
            ])
        }
        return text + "\n" + parts.takeText(withTitles: true)
    }

    /// Whether it was read and what was done with it; nil: neither, or the daemon does not say.
    static func state(_ record: NotificationRecord) -> String? {
        var words: [String] = []
        if record.isRead == true { words.append("read") }
        if let state = record.actionState, state != .none { words.append(state.rawValue) }
        return words.isEmpty ? nil : words.joined(separator: ", ")
    }

    private static func remaining(_ time: String, now: Int64) -> String {
        guard let expiry = try? CommandLineText.time(time) else { return "" }
        return " (in \(HumanText.duration(milliseconds: expiry - now)))"
    }
}
