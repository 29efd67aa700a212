import ArgumentParser
import BlobClient
import Notifications

struct HistoryCommand: ParsableCommand {
    private static let pageCount = 100

    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "List a user's notifications, newest first.",
        discussion: """
            Dismissed notifications are included until they expire. The last line on standard error is the \
            cursor for blobd changes --since. If --limit cut the list off, the line above it has the option \
            that continues it.

              blobd history ann
              blobd history ann --unread --limit 20
              blobd history ann --group weekend --json | jq -r .message
              blobd history ann --status deleted
            """)

    @Argument(help: .named("user", "The user."))
    var owner: String

    @OptionGroup var limit: LimitOptions

    @Option(help: .named("position", "Continue a list from this position."))
    var before: String?

    @OptionGroup var filter: FilterOptions

    @Flag(help: "Print one JSON record per line.")
    var json = false

    @OptionGroup var socket: SocketOptions

    func run() throws {
        var connection = try socket.connect()
        let isOfDeleted = filter.status == .deleted
        var printer = ListPrinter(
            limit, json ? nil : TextTable(isOfDeleted ? Self.deletedTitles : Self.titles))
        var cursor: String?
        let next = try connection.readPages(from: before) { next in
            try .history(
                of: owner, limit: min(printer.left, Self.pageCount), before: next,
                matching: filter.filter)
        } take: { page, answer in
            cursor = cursor ?? page.cursor
            return try printer.print(count: page.notifications.count + page.deleted.count) {
                try JSONTexts.lines(isOfDeleted ? "deleted" : "notifications", in: answer.body)
            } rows: {
                page.notifications.map(Self.row) + page.deleted.map(Self.row)
            }
        }
        if let next { StandardError.write("more: --before \(next)\n") }
        StandardError.write("cursor: \(cursor ?? "")\n")
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
            HumanText.line(deleted.id, characterCountMax: 255), deleted.kind.name,
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
