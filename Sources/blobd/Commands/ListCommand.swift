import ArgumentParser
import BlobClient

struct ListCommand: ParsableCommand {
    private static let pageCount = 1_000

    static let configuration = CommandConfiguration(
        commandName: "ls",
        abstract: "List all notifications.",
        discussion: """
            The list is sorted by the bytes of the ids, without expired notifications. It is not a snapshot: \
            changes made meanwhile may appear. --owner reads all notifications and prints those of one user; \
            blobd history, which prints them by time, reads only these.

              blobd ls --limit 20
              blobd ls --prefix order-
              blobd ls --owner ann --json | jq -r .id
              blobd ls --after user-7- --json | jq -r .id
            """)

    @OptionGroup var limit: LimitOptions

    @Option(help: .named("id", "Start after this id."))
    var after: String?

    @Option(help: .named("text", "Only ids that begin with this text."))
    var prefix: String?

    @Option(help: .named("user", "Only notifications of this user."))
    var owner: String?

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
        var start = after
        var first: [Row] = []
        if let prefix, (after ?? "").utf8.lexicographicallyPrecedes(prefix.utf8) {
            // A page begins after an id, and the prefix may be one.
            start = prefix
            first = try Self.find(prefix, &connection).map { [$0] } ?? []
        }
        try connection.readPages(from: start) { next in
            // Of those of one owner, a page may have few.
            try .list(
                limit: owner == nil ? min(printer.left, Self.pageCount) : Self.pageCount,
                after: next)
        } take: { page, answer in
            let records = page.notifications
            let lines = json ? try JSONTexts.lines("notifications", in: answer.body) : []
            let found = records.indices.map { (records[$0], json ? lines[$0] : "") }
            let rows = (first + found).filter { isListed($0.record) }.prefix(printer.left)
            first = []
            let now = wallClockMilliseconds()
            let wantsMore = try printer.print(count: rows.count) {
                rows.map(\.line)
            } rows: {
                rows.map { Self.row($0.record, now: now) }
            }
            // Sorted: behind the first id without the prefix there is none with it.
            return wantsMore && records.last.map { hasPrefix($0.id) } ?? true
        }
    }

    private typealias Row = (record: NotificationRecord, line: String)

    private static func find(
        _ id: String, _ connection: inout BlobConnection
    ) throws(ClientError) -> Row? {
        let call = try DaemonCall.stat(id)
        do {
            let answer = try connection.answer(to: call)
            let line = String(decoding: answer.body, as: UTF8.self) + "\n"
            return (try call.read(answer), line)
        } catch  where ExitStatus(error) == .notFound {
            return nil
        }
    }

    private func isListed(_ record: NotificationRecord) -> Bool {
        hasPrefix(record.id) && (owner == nil || record.owner == owner)
    }

    private func hasPrefix(_ id: String) -> Bool {
        // As bytes: a text may begin with another whose last character it continues.
        prefix.map { id.utf8.starts(with: $0.utf8) } ?? true
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
