import BlobClient
import BlobProtocol
import TestSupport

/// Clients that wait for changes, each for an owner of its own.
struct WaitersCrowd: CrowdKind {
    static let name = "waiters"
    static let line = "Many clients wait for changes: what does it cost, and who is woken?"
    static let details = """
        While nothing happens the daemon may use 1 % of a core. While a payload is replaced again and
        again, the file may not grow: it would if a waiter held a snapshot, whose pages cannot be used
        again. Then each owner (with --short: every tenth) gets a notification, and exactly its waiter
        hears of it.
        """
    static let sizes = (
        usual: CrowdSize(clients: 1_000, seconds: 10), short: CrowdSize(clients: 1_000, seconds: 1)
    )
    static func arguments(_ size: CrowdSize) -> [String] {
        [
            "--max-connections", "\(size.clients + 100)", "--heartbeat", "1h",
            "--zero-copy-grace", "0ms",
        ]
    }
    static func byteCountMax(_ size: CrowdSize, isShort: Bool) -> (beside: Int?, after: Int?) {
        (128 << 20, 64 << 20)
    }

    private static let payloadByteCount = 1 << 20
    private static let replacedCount = 64
    private static let grownByteCountMax = 24 << 20

    let daemon: CrowdedDaemon
    private var sockets: [RawSocket] = []

    init(_ daemon: CrowdedDaemon) { self.daemon = daemon }

    /// Opens them and reads the first answer of each, which has no change.
    mutating func come() throws {
        sockets = try (0..<daemon.size.clients).map { number in
            var request = helloFrame
            try RequestFrame.compose(.call, flags: .watch, requestID: 2, into: &request) {
                (out) throws(ProtocolError) in
                try Call.Request.compose(
                    .get, target: "/v1/users/owner%20\(number)/changes?since=latest", into: &out)
            }
            let socket = try RawSocket.connect(to: daemon.socket)
            var received: [UInt8] = []
            _ = try socket.sendAll(request, answers: &received)
            let answers = try socket.answers(2, received: received)
            try require(answers[1].status == 200, "client \(number) is not let wait")
            return socket
        }
        let watchers = try daemon.number("watchers")
        try require(watchers == sockets.count, "\(watchers) of \(sockets.count) wait")
    }

    mutating func stay() throws -> [String] {
        var connection = try daemon.connect()
        // With --short: too short for a figure of the kernel's ticks to be judged by less.
        let (quiet, percentMax) = (daemon.size.seconds, daemon.isShort ? 50 : 1)
        let before = try ProcessFigures.processorMilliseconds(of: daemon.pid)
        Clock.pause(microseconds: quiet * 1_000_000)
        let used = try ProcessFigures.processorMilliseconds(of: daemon.pid) - before
        try require(
            used * 100 <= quiet * 1_000 * percentMax,
            "waiting cost \(used) ms of a processor in \(quiet) s; the limit is \(percentMax) %")

        let grown = try replace(&connection)
        let wakes = try statistic("feed_wakes", &connection)
        try require(wakes == 0, "\(wakes) were woken by what concerns none of them")

        let delays = try hear(every: daemon.isShort ? 10 : 1, &connection)
        let woken = try statistic("feed_wakes", &connection)
        try require(
            woken == delays.count,
            "\(woken) wake-ups for \(delays.count) notifications of as many owners")
        return [
            "waiting cost \(used) ms of a processor in \(quiet) s",
            "the file grew by \(mebibytes(grown)) while \(mebibytes(Self.replacedCount * Self.payloadByteCount)) were replaced",
            "a client heard of its notification after \(percentile(50, of: delays) / 1_000) µs (99 %: \(percentile(99, of: delays) / 1_000) µs)",
        ]
    }

    mutating func leave() throws {
        sockets = []
        try Clock.wait(
            milliseconds: 120_000, orThrow: "the daemon still counts waiters that have gone"
        ) { try daemon.number("watchers") == 0 }
    }

    /// Replaces a payload over and over. Returns by how much the file has grown, in bytes.
    private func replace(_ connection: inout BlobConnection) throws -> Int {
        let before = try statistic("file_bytes", &connection)
        for round in 0..<Self.replacedCount {
            let bytes = [UInt8](repeating: UInt8(round & 255), count: Self.payloadByteCount)
            let request = PutRequest(id: "replaced", mediaType: "image/jpeg")
            _ = try connection.put(request, bytes.span.bytes)
        }
        let grown = try statistic("file_bytes", &connection) - before
        try require(
            grown <= Self.grownByteCountMax,
            "the file grew by \(mebibytes(grown)) while one payload was replaced: something holds old pages"
        )
        return grown
    }

    /// Publishes a notification for each owner, or only for one of so many. Its waiter must hear of it, and all others
    /// of nothing.
    ///
    /// - Returns: how long after it was asked for each was heard of, in nanoseconds.
    private func hear(every step: Int, _ connection: inout BlobConnection) throws -> [Int] {
        var delays: [Int] = []
        for number in stride(from: 0, to: sockets.count, by: step) {
            let start = Clock.nanoseconds()
            let request = PutRequest(
                id: "of \(number)", mediaType: "image/jpeg", owner: "owner \(number)")
            _ = try connection.put(request, [UInt8(number & 255)].span.bytes)
            let heard = try sockets[number].answers()[0]
            delays.append(Clock.nanoseconds() - start)
            try require(
                try ChangePage(document: heard.body).changes.map(\.id) == ["of \(number)"],
                "client \(number) heard of something else: \(heard.text)")
        }
        for (number, socket) in sockets.enumerated() {
            try require(!socket.hasInput(), "client \(number) heard more than its own")
        }
        return delays
    }
}
