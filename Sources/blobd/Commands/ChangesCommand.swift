import ArgumentParser
import BlobClient
import Dispatch
import Glibc

struct ChangesCommand: ParsableCommand {
    private static let pageCount = 100

    static let configuration = CommandConfiguration(
        commandName: "changes",
        abstract: "Print a user's change feed, one JSON document per line.",
        discussion: """
            Each notification appears once, with its latest change: published, updated, deleted or expired. \
            A category that the user's notifications use appears when it is set or removed. The last line on \
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

    @OptionGroup var socket: SocketOptions

    func run() throws {
        var printer = ChangePrinter(cursor: since, left: limit.limit ?? .max)
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
            hasMore = try printer.print(answer.body)
        }
    }

    private func follow(_ printer: inout ChangePrinter) throws {
        let stop = SocketStop()
        Self.whenInterrupted { stop.stop() }
        var reader = FeedSubscription(
            socketPath: try socket.path(), options: socket.options(), owner: owner, since: since,
            limit: min(printer.left, Self.pageCount), matching: filter.filter, stop: stop)
        while printer.left > 0, let page = try reader.next() {
            _ = try printer.print(page.document)
        }
    }

    /// Runs `body` on another thread at the first SIGINT or SIGTERM, which then have no other effect.
    private static func whenInterrupted(_ body: @escaping @Sendable () -> Void) {
        // Blocked before there is another thread, so that none can be interrupted.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        let awaited = signals
        DispatchQueue(label: "blobd.signals").async {
            var signals = awaited
            var number: CInt = 0
            while sigwait(&signals, &number) != 0 {}
            body()
        }
    }
}

private struct ChangePrinter {
    private(set) var cursor: String
    private(set) var hasRead = false
    private(set) var left: Int

    func writeCursor() { StandardError.write("cursor: \(cursor)\n") }

    mutating func print(_ document: [UInt8]) throws -> Bool {
        let page = try ChangePage(document: document)
        hasRead = true
        let lines = try JSONTexts.lines("changes", in: document)
        guard lines.count <= left else {
            // The cursor after the last printed one.
            try StandardOutput.write(lines.prefix(left).joined())
            cursor = page.changes[left - 1].cursor
            left = 0
            return true
        }
        if !lines.isEmpty { try StandardOutput.write(lines.joined()) }
        left -= lines.count
        cursor = page.next
        return page.hasMore
    }
}
