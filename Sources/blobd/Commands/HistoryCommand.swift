import ArgumentParser
import BlobClient

/// `blobd history`: lists a user's notifications.
struct HistoryCommand: ParsableCommand {
    /// How many notifications are asked for at once.
    private static let pageCount = 100

    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "List a user's notifications, newest first.",
        discussion: """
            Dismissed notifications are included until they expire. The last line on standard error \
            is the cursor for blobd changes --since. If --limit cut the list, the line above it has \
            the option that continues it.

              blobd history ann
              blobd history ann --unread --limit 20
              blobd history ann --group weekend --json | jq -r .message
            """)

    @Argument(help: ArgumentHelp("The user.", valueName: "user"))
    var owner: String

    @Option(help: ArgumentHelp("Maximum count. Default: all.", valueName: "count"))
    var limit: Int?

    @Option(help: ArgumentHelp("Continue another list from this position.", valueName: "position"))
    var before: String?

    @OptionGroup var filter: FilterOptions

    @Flag(help: "Print one JSON record per line.")
    var json = false

    @OptionGroup var socket: SocketOptions

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit \(limit) is under 1") }
    }

    func run() throws {
        var connection = try socket.connect()
        var request = HistoryRequest()
        request.before = before
        request.filter = filter.filter
        var table = TextTable([
            ("ID", .left), ("CREATED", .left), ("STATE", .left), ("PARTS", .right),
            ("MESSAGE", .left),
        ])
        var left = limit ?? .max
        var isFirst = true
        var cursor = ""
        repeat {
            request.limit = min(left, Self.pageCount)
            let document = try connection.historyDocument(of: owner, request)
            let page = try NotificationHistory(document: document)
            if isFirst { cursor = page.cursor }
            if json {
                try StandardOutput.write(JSONTexts.lines("notifications", in: document).joined())
            } else {
                for record in page.notifications { table.append(Self.row(record)) }
                if isFirst || !table.isEmpty {
                    try StandardOutput.write(table.takeText(withTitles: isFirst))
                }
            }
            isFirst = false
            left -= page.notifications.count
            request.before = page.next
        } while left > 0 && request.before != nil
        if let next = request.before { StandardError.write("more: --before \(next)\n") }
        StandardError.write("cursor: \(cursor)\n")
    }

    private static func row(_ record: NotificationRecord) -> [String] {
        [
            HumanText.line(record.id, characterCountMax: 255), record.createdAt,
            StatCommand.state(record) ?? "unread", "\(record.parts.count)",
            (record.title ?? record.message).map { HumanText.line($0) } ?? "",
        ]
    }
}
