import ArgumentParser
import BlobClient
import BlobJSON
import BlobProtocol
import Glibc
import TestSupport

/// Many clients ask for the longest answers there are, and read nothing.
struct UnreadScenario: Scenario {
    static let configuration = CommandConfiguration(
        commandName: "unread",
        abstract: "Clients that ask for long answers and do not read: what does the daemon hold?",
        discussion: """
            They ask for lists, pages of changes and of a history, answers to batches, streams and \
            watches, of a thousand large notifications, as many as the daemon takes, and read \
            nothing. The daemon's own memory may grow by its limit for unread answers, and by what \
            each worker may hold beside it; others publish, fetch and read all pages meanwhile; and \
            when the crowd has gone, the memory comes back.
            """)

    @OptionGroup var options: ScenarioOptions

    @Option(help: "How many clients.")
    var clients = 200

    @Option(help: "Large notifications there are. With --short: 300.")
    var notifications: Int?

    @Option(help: "The daemon's memory for unread answers, in MiB; 16. With --short: 4.")
    var mebibytesMax: Int?

    @Option(help: "How long the others go on beside the crowd, in seconds. With --short: 3.")
    var seconds: Int?

    var secondsMax: UInt32 { 300 }

    private static let workers = 2
    /// Beside unread answers: the workers' buffers, the store's caches, bodies of batches.
    private static let allowance = 48 << 20
    /// What may stay when the crowd has gone.
    private static let leftMax = 16 << 20
    /// How much longer than asked for it goes on until the crowd has left something, in milliseconds.
    private static let patience = 60_000

    func torture(_ bench: inout Workbench) throws -> [String] {
        let count = notifications ?? (options.short ? 300 : 1_000)
        let memory = (mebibytesMax ?? (options.short ? 4 : 16)) << 20
        let duration = seconds ?? (options.short ? 3 : 20)
        try raiseDescriptorLimit(to: clients + 100)
        var daemon = try DaemonUnderTest.serving(
            bench,
            arguments: [
                "--answer-memory", "\(memory)", "--workers", "\(Self.workers)",
                DaemonFlag.watchersOfOwner, "\(clients)",
            ])
        var connection = try daemon.connect()
        try fill(count, &connection)
        // Everything once, so that what is kept anyway is there before.
        _ = try readAll(&connection, RefusalCount())
        let before = try ProcessFigures(of: daemon.pid).ownByteCount

        let watch = try MemoryWatch(daemon.pid)
        let refusals = RefusalCount()
        var crowd: UnreadCrowd? = try UnreadCrowd(clients, at: daemon.socket)
        let deadline = Clock.milliseconds() + duration * 1_000
        var times: [Int] = []
        var readers = 0
        var held = 0
        repeat {
            // Those who were ended come again.
            try crowd?.press()
            held = max(held, try statistic("answer_memory_bytes", &connection))
            for round in 0..<20 {
                let begin = Clock.nanoseconds()
                let bytes = [UInt8](repeating: UInt8(round), count: 1_000)
                try connection.put(
                    PutRequest(id: "other", mediaType: "image/png"), bytes.span.bytes)
                try require(
                    try connection.get("other").bytes == bytes, "another client got other bytes")
                times.append((Clock.nanoseconds() - begin) / 1_000)
            }
            let seen = try readAll(&connection, refusals)
            try require(
                seen == count, "beside the crowd a list had \(seen) of \(count) notifications")
            readers += 1
            // On a busy machine the daemon has not answered a crowd yet that has just asked.
        } while Clock.milliseconds() < deadline
            || held <= memory / 8 && Clock.milliseconds() < deadline + Self.patience
        try daemon.requireRunning("beside clients that do not read")
        // Else nothing was tried.
        try require(held > memory / 8, "the crowd left only \(mebibytes(held)) unread")
        let grown = try watch.finish() - before
        let ended = try statistic("unread_ends", &connection)
        crowd = nil
        let limit = memory + Self.workers * (2 << 20) + Self.allowance
        try require(
            grown <= limit,
            "the daemon's memory grew by \(mebibytes(grown)); the limit is \(mebibytes(limit))")
        var left = 0
        let isBack = try Clock.wait(milliseconds: 20_000) {
            left = try ProcessFigures(of: daemon.pid).ownByteCount - before
            return try statistic("answer_memory_bytes", &connection) == 0 && left <= Self.leftMax
        }
        try require(isBack, "when the crowd has gone \(mebibytes(left)) more are held than before")
        try daemon.stop()
        try verify(bench, "after the crowd")
        return [
            "\(clients) clients that read nothing: memory grew by \(mebibytes(grown)) (limit \(mebibytes(limit))), "
                + "of which up to \(mebibytes(held)) unread answers; \(mebibytes(max(0, left))) stay",
            "\(ended) of them were ended; meanwhile \(readers) others read all pages "
                + "(told \(refusals.count) times to come again), and a publish with its fetch took "
                + "\(percentile(50, of: times)) us (median; 99 %: \(percentile(99, of: times)) us)",
        ]
    }

    /// Publishes large notifications, each of about 20 KB.
    private func fill(_ count: Int, _ connection: inout BlobConnection) throws {
        for number in 0..<count {
            var upload = NotificationUpload(id: "n\(10_000 + number)")
            upload.owner = UnreadCrowd.owner
            upload.message = String(repeating: "m", count: 4_000)
            upload.data = .string(String(repeating: "d", count: 16_000))
            _ = try connection.call(.publish(upload))
        }
    }

    private final class RefusalCount {
        var count = 0
    }

    /// Reads the list from beginning to end, coming again where the daemon asks for it.
    ///
    /// - Returns: how many large notifications it had.
    private func readAll(_ connection: inout BlobConnection, _ refusals: RefusalCount) throws -> Int
    {
        var seen = 0
        var after: String?
        let deadline = Clock.milliseconds() + 60_000
        repeat {
            let page: NotificationPage
            do throws(ClientError) {
                page = try connection.call(.list(after: after))
            } catch {
                guard case .refused(let problem) = error, problem.code == "unavailable",
                    Clock.milliseconds() < deadline
                else { throw error }
                refusals.count += 1
                Clock.pause(microseconds: 100_000)
                continue
            }
            seen += page.notifications.count { $0.owner == UnreadCrowd.owner }
            after = page.next
            if after == nil { return seen }
        } while true
    }
}

/// Clients that send requests for long answers and never read.
private final class UnreadCrowd {
    static let owner = "anna"

    private let path: String
    private var sockets: [RawSocket]
    private var sent: [Int]
    private let requests: [[UInt8]]

    init(_ count: Int, at path: String) throws {
        self.path = path
        requests = try Self.requests()
        sockets = try (0..<count).map { _ in try RawSocket.connect(to: path) }
        sent = [Int](repeating: 0, count: count)
    }

    /// Sends of each client's requests as much as goes. Those that the daemon has ended begin again.
    func press() throws {
        for index in sockets.indices {
            let bytes = requests[index % requests.count]
            if isEnded(sockets[index].descriptor) {
                sockets[index] = try RawSocket.connect(to: path)
                sent[index] = 0
            }
            // Until it is full, or ended meanwhile.
            while sent[index] < bytes.count,
                case .moved(let count) = sockets[index].send(bytes, from: sent[index])
            {
                sent[index] += count
            }
        }
    }

    /// Whether the daemon has ended a connection, whatever of it is unread.
    private func isEnded(_ descriptor: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: 0, revents: 0)
        return poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLHUP | POLLERR) != 0
    }

    /// Every kind of long answer, so many times as requests may be unanswered.
    private static func requests() throws -> [[UInt8]] {
        var list: [UInt8] = []
        var history: [UInt8] = []
        for frames in 0..<WireLimits.requestsInFlightMax {
            let id = UInt32(frames + 2)
            // Of all lengths, so that sockets are full at any place of an answer.
            let limit = 1 + frames * 37 % 97
            try RequestFrame.compose(.call, requestID: id, into: &list) {
                (out) throws(ProtocolError) in
                try Call.Request.compose(
                    .get, target: "/v1/notifications?limit=\(limit)", into: &out)
            }
            try RequestFrame.compose(.call, requestID: id, into: &history) {
                (out) throws(ProtocolError) in
                try Call.Request.compose(
                    .get, target: "/v1/users/\(owner)/notifications?limit=\(limit)", into: &out)
            }
        }
        var watch: [UInt8] = []
        try RequestFrame.compose(.watch, requestID: 2, into: &watch) {
            (out) throws(ProtocolError) in
            try Watch.Request.compose(limit: 1_000, owner: owner, cursor: "0", into: &out)
        }
        let changes = text("GET", "/v1/users/\(owner)/changes?since=0&limit=1000")
        let stream = text("GET", "/v1/users/\(owner)/changes", "Accept: text/event-stream\r\n")
        let lines = String(
            repeating: "{\"id\":\"\(String(repeating: "x", count: 250))\"\n", count: 999)
        let batch = text(
            "POST", "/v1/notifications:batch",
            "Content-Type: application/x-ndjson\r\nContent-Length: \(lines.utf8.count)\r\n")
        return [
            helloFrame + list, helloFrame + history, helloFrame + watch,
            [[UInt8]](repeating: changes, count: WireLimits.requestsInFlightMax).flatMap { $0 },
            stream,
            [[UInt8]](repeating: batch + Array(lines.utf8), count: 8).flatMap { $0 },
        ]
    }

    private static func text(_ method: String, _ target: String, _ fields: String = "") -> [UInt8] {
        Array("\(method) \(target) HTTP/1.1\r\nHost: b\r\n\(fields)\r\n".utf8)
    }
}
