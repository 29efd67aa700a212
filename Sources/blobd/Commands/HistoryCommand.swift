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
              blobd history ann --status deleted
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
        let isOfDeleted = filter.status == .deleted
        var table = TextTable(isOfDeleted ? Self.deletedTitles : Self.titles)
        var left = limit ?? .max
        var isFirst = true
        var cursor = ""
        var next = before
        repeat {
            let call = try DaemonCall.history(
                of: owner, limit: min(left, Self.pageCount), before: next, matching: filter.filter)
            let answer = try connection.answer(to: call)
            let page = try call.read(answer)
            if isFirst { cursor = page.cursor }
            if json {
                let member = isOfDeleted ? "deleted" : "notifications"
                try StandardOutput.write(JSONTexts.lines(member, in: answer.body).joined())
            } else {
                for record in page.notifications { table.append(Self.row(record)) }
                for deleted in page.deleted { table.append(Self.row(deleted)) }
                if isFirst || !table.isEmpty {
                    try StandardOutput.write(table.takeText(withTitles: isFirst))
                }
            }
            isFirst = false
            left -= page.notifications.count + page.deleted.count
            next = page.next
        } while left > 0 && next != nil
        if let next { StandardError.write("more: --before \(next)\n") }
        StandardError.write("cursor: \(cursor)\n")
    }

    private static let titles: [(String, TextTable.Alignment)] = [
        ("ID", .left), ("CREATED", .left), ("STATE", .left), ("PARTS", .right), ("MESSAGE", .left),
    ]
    private static let deletedTitles: [(String, TextTable.Alignment)] = [
        ("ID", .left), ("KIND", .left), ("DEVICE", .left), ("APP", .left),
        ("REMEMBERED UNTIL", .left),
    ]

    private static func row(_ deleted: DeletedNotification) -> [String] {
        [
            HumanText.line(deleted.id, characterCountMax: 255), deleted.kind.rawValue,
            deleted.device.map { HumanText.line($0) } ?? "",
            deleted.app.map { HumanText.line($0) } ?? "", deleted.rememberedUntil,
        ]
    }

    private static func row(_ record: NotificationRecord) -> [String] {
        [
            HumanText.line(record.id, characterCountMax: 255), record.createdAt,
            StatCommand.state(record) ?? "unread", "\(record.parts.count)",
            (record.title ?? record.message).map { HumanText.line($0) } ?? "",
        ]
    }
}
