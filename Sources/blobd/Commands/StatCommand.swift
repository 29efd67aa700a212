import ArgumentParser
import BlobClient
import Notifications

struct StatCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stat",
        abstract: "Show a notification.",
        discussion: """
              blobd stat 42
              blobd stat 42 --json | jq -r '.parts[].digest'
            """)

    @Argument(help: .named("id", "The notification's id."))
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
        func line(_ text: String?) -> String? { text.map { HumanText.line($0) } }
        let platforms = record.platforms.joined(separator: ", ")
        let text = HumanText.rows(
            [
                ("id", record.id), ("owner", line(record.owner)), ("app", line(record.app)),
                ("title", line(record.title)),
                ("message", record.message.map { HumanText.line($0, characterCountMax: 200) }),
                ("rich type", line(record.richType)), ("category", line(record.category)),
                ("group", line(record.group)),
                ("platforms", platforms.isEmpty ? nil : line(platforms)),
                ("host", line(record.targetHost)), ("state", state(record)),
                ("created", record.createdAt),
                ("expires", record.expiresAt + remaining(record.expiresAt, now: now)),
                ("revision", HumanText.count(record.revision)),
            ], width: 10)
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

    /// Whether it was read, and its action state; nil if it has neither.
    static func state(_ record: NotificationRecord) -> String? {
        var words: [String] = []
        if record.isRead == true { words.append("read") }
        if let state = record.actionState, state != .none { words.append(state.name) }
        return words.isEmpty ? nil : words.joined(separator: ", ")
    }

    private static func remaining(_ time: String, now: Int64) -> String {
        guard let expiry = try? CommandLineText.time(time) else { return "" }
        return " (in \(HumanText.duration(milliseconds: expiry - now)))"
    }
}
