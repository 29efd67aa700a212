import ArgumentParser
import BlobClient

struct ListCommand: ParsableCommand {
    private static let pageCount = 1_000

    static let configuration = CommandConfiguration(
        commandName: "ls",
        abstract: "List all notifications.",
        discussion: """
            The list is sorted by the bytes of the ids, without expired notifications. It is not a snapshot: \
            changes made meanwhile may appear.

              blobd ls --limit 20
              blobd ls --after user-7- --json | jq -r .id
            """)

    @OptionGroup var limit: LimitOptions

    @Option(help: .named("id", "Start after this id."))
    var after: String?

    @Flag(help: "Print one JSON record per line.")
    var json = false

    @OptionGroup var socket: SocketOptions

    func run() throws {
        var connection = try socket.connect()
        var printer = ListPrinter(
            limit,
            json
                ? nil
                : TextTable([
                    ("ID", .left), ("TYPE", .left), ("BYTES", .right), ("EXPIRES IN", .right),
                    ("OWNER", .left),
                ]))
        try connection.readPages(from: after) { next in
            try .list(limit: min(printer.left, Self.pageCount), after: next)
        } take: { page, answer in
            let now = wallClockMilliseconds()
            let records = page.notifications
            return try printer.print(answer.body, "notifications", count: records.count) {
                records.map { Self.row($0, now: now) }
            }
        }
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
