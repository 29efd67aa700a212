import ArgumentParser
import BlobClient

struct ChangesCommand: ParsableCommand {
    private static let pageCount = 100

    static let configuration = CommandConfiguration(
        commandName: "changes",
        abstract: "Print a user's change feed.",
        discussion: """
            Prints a table on a terminal, else one JSON document per line. Each notification appears \
            with its latest change: published, updated, deleted or expired. One that moved to another app \
            first appears as deleted. A category that the user's notifications use appears when it is set or removed. The last line on \
            standard error is the cursor: pass it as --since next time, and you miss no change. --follow \
            waits for changes, and reconnects when the daemon restarts.

            With a filter (--app to --status), a changed notification that does not match is printed as \
            left. A cursor belongs to one filter: for another, start with blobd history and the same options.

              blobd changes ann
              blobd changes ann --since Nu3o…
              blobd changes ann --unread --app mail
              blobd changes ann --since latest --follow | jq -r '.kind + " " + (.id // .category.name)'
            """)

    @Argument(help: .named("user", "The user."))
    var owner: String

    @Option(
        help: .named("cursor", "Start after this cursor. 0: all changes. latest: only new changes.")
    )
    var since = "0"

    @OptionGroup var limit: LimitOptions

    @OptionGroup var filter: FilterOptions

    @Flag(help: "Wait for changes until interrupted.")
    var follow = false

    @Flag(help: "Print JSON, also on a terminal.")
    var json = false

    @Flag(help: "Print a table, also to a file or a pipe.")
    var table = false

    @OptionGroup var socket: SocketOptions

    func validate() throws {
        try require(!json || !table, "--json and --table cannot be used together")
    }

    func run() throws {
        let isTable = table || (!json && StandardOutput.isTerminal)
        var printer = ChangePrinter(
            cursor: since, left: limit.limit ?? .max, table: isTable ? ChangePrinter.titles : nil)
        do {
            if follow { try follow(&printer) } else { try read(&printer) }
        } catch {
            // Before the first page, the given cursor itself may be wrong.
            if printer.hasRead { printer.writeCursor() }
            throw error
        }
        printer.writeCursor()
    }

    private func read(_ printer: inout ChangePrinter) throws {
        var connection = try socket.connect()
        var hasMore = true
        while hasMore && printer.left > 0 {
            let answer = try connection.answer(
                to: .changes(
                    of: owner, since: printer.cursor, limit: min(printer.left, Self.pageCount),
                    matching: filter.filter))
            hasMore = try printer.print(try ChangePage(document: answer.body), answer.body)
        }
    }

    private func follow(_ printer: inout ChangePrinter) throws {
        let stop = SocketStop()
        Interruption.handle { _ in stop.stop() }
        var reader = FeedSubscription(
            socketPath: try socket.path(), options: socket.options(), owner: owner, since: since,
            limit: min(printer.left, Self.pageCount), matching: filter.filter, stop: stop)
        while printer.left > 0, let (page, document) = try reader.next() {
            _ = try printer.print(page, document)
        }
    }
}

private struct ChangePrinter {
    private(set) var cursor: String
    private(set) var left: Int
    /// Nil: JSON.
    var table: TextTable?
    private(set) var hasRead = false

    static let titles = TextTable([
        ("CHANGE", .left), ("ID", .left), ("REVISION", .right), ("DEVICE", .left),
        ("MESSAGE", .left),
    ])

    init(cursor: String, left: Int, table: TextTable?) {
        (self.cursor, self.left, self.table) = (cursor, left, table)
    }

    func writeCursor() { StandardError.write("cursor: \(cursor)\n") }

    mutating func print(_ page: ChangePage, _ document: [UInt8]) throws -> Bool {
        // Of more than was asked for, the cursor after the last printed one.
        let changes = page.changes.prefix(left)
        let isCut = changes.count < page.changes.count
        if table == nil {
            let lines = try JSONTexts.lines("changes", in: document).prefix(left)
            if !lines.isEmpty { try StandardOutput.write(lines.joined()) }
        } else if !hasRead || !changes.isEmpty {
            for change in changes { table?.append(Self.row(change)) }
            try StandardOutput.write(table?.takeText(withTitles: !hasRead) ?? "")
        }
        hasRead = true
        left -= changes.count
        cursor = isCut ? changes.last?.cursor ?? cursor : page.next
        return isCut || page.hasMore
    }

    private static func row(_ change: NotificationChange) -> [String] {
        let record = change.notification
        var kind = change.kind.name
        if change.kind == .category { kind += change.category == nil ? " removed" : " set" }
        return [
            kind, HumanText.line(change.id, characterCountMax: 255),
            HumanText.count(change.revision), change.device.map { HumanText.line($0) } ?? "",
            (record?.title ?? record?.message).map { HumanText.line($0) } ?? "",
        ]
    }
}
