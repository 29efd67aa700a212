import ArgumentParser
import BlobClient

/// `blobd ls`: lists notifications.
struct ListCommand: ParsableCommand {
    /// How many notifications are asked for at once: the protocol's most.
    private static let pageCount = 1_000

    static let configuration = CommandConfiguration(
        commandName: "ls",
        abstract: "List all notifications.",
        discussion: """
            The list is sorted by the bytes of the ids, without expired notifications. It is read in \
            pages and is not a snapshot: changes made meanwhile appear in later pages.

              blobd ls --limit 20
              blobd ls --after user-7- --json | jq -r .id
            """)

    @Option(help: ArgumentHelp("Maximum count. Default: all.", valueName: "count"))
    var limit: Int?

    @Option(help: ArgumentHelp("Start after this id.", valueName: "id"))
    var after: String?

    @Flag(help: "Print one JSON record per line.")
    var json = false

    @OptionGroup var socket: SocketOptions

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit \(limit) is under 1") }
    }

    func run() throws {
        var connection = try socket.connect()
        var table = TextTable([
            ("ID", .left), ("TYPE", .left), ("BYTES", .right), ("EXPIRES IN", .right),
            ("OWNER", .left),
        ])
        var left = limit ?? .max
        var next = after
        var isFirst = true
        repeat {
            let call = try DaemonCall.list(limit: min(left, Self.pageCount), after: next)
            let answer = try connection.answer(to: call)
            let page = try call.read(answer)
            if json {
                try StandardOutput.write(
                    JSONTexts.lines("notifications", in: answer.body).joined())
            } else {
                let now = wallClockMilliseconds()
                for record in page.notifications { table.append(Self.row(record, now: now)) }
                if isFirst || !table.isEmpty {
                    try StandardOutput.write(table.takeText(withTitles: isFirst))
                }
            }
            isFirst = false
            left -= page.notifications.count
            next = page.next
        } while left > 0 && next != nil
    }

    private static func row(_ record: NotificationRecord, now: Int64) -> [String] {
        let first = record.parts.first { $0.name == "payload" } ?? record.parts.first
        let others = record.parts.count - 1
        let expiry = (try? CommandLineText.time(record.expiresAt)) ?? now
        return [
            HumanText.line(record.id, characterCountMax: 255),
            (first?.mediaType ?? "") + (others > 0 ? " and \(others) more" : ""),
            HumanText.bytes(record.parts.reduce(Int64(0)) { $0 &+ $1.byteCount }),
            HumanText.duration(milliseconds: expiry - now),
            record.owner.map { HumanText.line($0) } ?? "",
        ]
    }
}
