import BlobClient
import BlobJSON
import BlobProtocol
import Glibc
import TestSupport

/// Clients that ask for the longest answers there are, and read nothing.
struct UnreadCrowd: CrowdKind {
    static let name = "unread"
    static let line =
        "Clients that ask for long answers and do not read: what does the daemon hold?"
    static let details = """
        They ask for pages of changes and of a history, answers to batches, streams and watches, of
        large notifications, as many as the daemon takes, and read nothing. The daemon's own memory may
        grow by its limit for unread answers, and by what each worker may hold beside it; others
        publish, fetch and read all pages meanwhile.
        """
    static let sizes = (
        usual: CrowdSize(clients: 200, seconds: 20, bytes: 20_000_000),
        short: CrowdSize(clients: 200, seconds: 3, bytes: 6_000_000)
    )
    private static let owner = "anna"
    private static let workers = 2

    /// The daemon's memory for unread answers. `bytes` are those of all notifications.
    private static func memory(_ size: CrowdSize) -> Int {
        size.bytes < 10_000_000 ? 4 << 20 : 16 << 20
    }
    static func arguments(_ size: CrowdSize) -> [String] {
        [
            "--answer-memory", "\(memory(size))", "--workers", "\(workers)",
            "--max-watchers-per-owner", "\(size.clients)",
        ]
    }
    static func byteCountMax(_ size: CrowdSize, isShort: Bool) -> (beside: Int?, after: Int?) {
        // Beside unread answers: the workers' buffers, the store's caches, bodies of batches.
        (memory(size) + workers * (2 << 20) + 48 << 20, 16 << 20)
    }

    let daemon: CrowdedDaemon
    private let requests: [[UInt8]]
    private var sockets: [RawSocket] = []
    private var sent: [Int] = []
    private var count: Int { daemon.size.bytes / 20_000 }

    init(_ daemon: CrowdedDaemon) throws {
        self.daemon = daemon
        requests = try Self.requests()
    }

    mutating func prepare() throws {
        var connection = try daemon.connect()
        for number in 0..<count {
            var upload = NotificationUpload(id: "n\(10_000 + number)")
            upload.owner = Self.owner
            upload.message = String(repeating: "m", count: 4_000)
            upload.data = .string(String(repeating: "d", count: 16_000))
            _ = try connection.call(.publish(upload))
        }
        // Everything once, so that what is kept anyway is there before.
        _ = try readAll(&connection)
    }

    mutating func come() throws {
        sockets = try (0..<daemon.size.clients).map { _ in
            try RawSocket.connect(to: daemon.socket)
        }
        sent = [Int](repeating: 0, count: sockets.count)
    }

    mutating func stay() throws -> [String] {
        var connection = try daemon.connect()
        let deadline = Clock.milliseconds() + daemon.size.seconds * 1_000
        let least = Self.memory(daemon.size) / 8
        var (held, readers, comingAgain) = (0, 0, 0)
        repeat {
            try press()
            held = max(held, try statistic("answer_memory_bytes", &connection))
            for round in 0..<20 {
                let bytes = [UInt8](repeating: UInt8(round), count: 1_000)
                try connection.put(
                    PutRequest(id: "other", mediaType: "image/png"), bytes.span.bytes)
                try require(
                    try connection.get("other").bytes == bytes, "another client got other bytes")
            }
            comingAgain += try readAll(&connection)
            readers += 1
            // On a busy machine the daemon has not answered a crowd yet that has just asked.
        } while Clock.milliseconds() < deadline
            || held <= least && Clock.milliseconds() < deadline + 60_000
        // Else nothing was tried.
        try require(held > least, "the crowd left only \(mebibytes(held)) unread")
        return [
            "up to \(mebibytes(held)) of unread answers; \(try daemon.number("unread_ends")) clients were ended",
            "\(readers) others read all pages, told \(comingAgain) times to come again",
        ]
    }

    mutating func leave() throws {
        sockets = []
        try Clock.wait(
            milliseconds: 120_000, orThrow: "answers are held for clients that have gone"
        ) {
            try daemon.number("answer_memory_bytes") == 0
        }
    }

    /// Sends of each client's requests as much as goes. Those that the daemon has ended begin again.
    private mutating func press() throws {
        for index in sockets.indices {
            let bytes = requests[index % requests.count]
            var entry = pollfd(fd: sockets[index].descriptor, events: 0, revents: 0)
            // Whatever of its answers is unread.
            if poll(&entry, 1, 0) > 0, entry.revents & Int16(POLLHUP | POLLERR) != 0 {
                sockets[index] = try RawSocket.connect(to: daemon.socket)
                sent[index] = 0
            }
            while sent[index] < bytes.count,
                case .moved(let count) = sockets[index].send(bytes, from: sent[index])
            {
                sent[index] += count
            }
        }
    }

    /// Reads the whole history, coming again where the daemon asks for it.
    ///
    /// - Returns: how often it did.
    private func readAll(_ connection: inout BlobConnection) throws -> Int {
        var (seen, refused) = (0, 0)
        var before: String?
        let deadline = Clock.milliseconds() + 180_000
        while true {
            do throws(ClientError) {
                let page = try connection.call(.history(of: Self.owner, before: before))
                seen += page.notifications.count
                before = page.next
                if page.next == nil { break }
            } catch {
                guard case .refused(let problem) = error, problem.code == "unavailable",
                    Clock.milliseconds() < deadline
                else { throw error }
                refused += 1
                Clock.pause(microseconds: 100_000)
            }
        }
        try require(
            seen == count, "beside the crowd a history had \(seen) of \(count) notifications")
        return refused
    }

    /// Every kind of long answer, so many times as requests may be unanswered.
    private static func requests() throws -> [[UInt8]] {
        var pages: [[UInt8]] = [helloFrame, helloFrame]
        for number in 0..<WireLimits.requestsInFlightMax {
            // Of all lengths, so that sockets are full at any place of an answer.
            let limit = 1 + number * 37 % 97
            for (index, target) in ["notifications?limit=", "changes?since=0&limit="].enumerated() {
                try RequestFrame.compose(.call, requestID: UInt32(number + 2), into: &pages[index])
                {
                    (out) throws(ProtocolError) in
                    try Call.Request.compose(
                        .get, target: "/v1/users/\(owner)/\(target)\(limit)", into: &out)
                }
            }
        }
        let target = "/v1/users/\(owner)/changes"
        var watch = helloFrame
        try RequestFrame.compose(.call, flags: .watch, requestID: 2, into: &watch) {
            (out) throws(ProtocolError) in
            try Call.Request.compose(.get, target: "\(target)?limit=1000", into: &out)
        }
        let changes = HTTPClient.request("GET", "\(target)?since=0&limit=1000")
        let stream = HTTPClient.request("GET", target, ["Accept: text/event-stream"])
        let line = "{\"id\":\"\(String(repeating: "x", count: 250))\"\n"
        let batch = HTTPClient.request(
            "POST", "/v1/notifications:batch", ["Content-Type: application/x-ndjson"],
            Array(String(repeating: line, count: 999).utf8))
        let many = [[UInt8]](repeating: changes, count: WireLimits.requestsInFlightMax)
        let batches = [[UInt8]](repeating: batch, count: 8)
        return pages + [watch, many.flatMap { $0 }, stream, batches.flatMap { $0 }]
    }
}
