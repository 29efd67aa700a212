import BlobClient
import Bytes
import TestSupport

/// Clients that ask for a long payload and do not read it: they are given up, what they were sent stays as it is, and
/// others are served.
struct DrainingCrowd: CrowdKind {
    static let name = "draining"
    static let abstract =
        "Clients that ask and do not read: who keeps a place, and what is kept for them?"
    static let discussion = """
        All of a daemon's places are taken by clients that ask for 2 MiB and read nothing. When they \
        have been given up, others are served; those that were sent pages of the file drain, and there \
        are no more of them than the daemon's limit. The payload is deleted and its pages are wanted \
        for others; then each client reads what it was sent, and every byte is compared.
        """
    static let sizes = (
        usual: CrowdSize(clients: 8_192, bytes: 2 << 20),
        short: CrowdSize(clients: 150, bytes: 2 << 20)
    )
    /// How many sockets may drain: the daemon's limit for one user.
    private static let drainingMax = 1_024
    static func arguments(_ size: CrowdSize) -> [String] {
        [
            DaemonFlag.connections, "\(size.clients)", DaemonFlag.rate, "1MiB",
            DaemonFlag.rateWindow, "1s",
        ]
    }
    static func byteCountMax(_ size: CrowdSize, isShort: Bool) -> (beside: Int?, after: Int?) {
        (nil, 32 << 20)
    }

    let daemon: CrowdedDaemon
    private let payload: Payload
    private var sockets: [RawSocket] = []

    init(_ daemon: CrowdedDaemon) {
        self.daemon = daemon
        payload = Payload(seed: daemon.seed, byteCount: daemon.size.bytes, kind: .noise)
    }

    mutating func prepare() throws {
        let stored = try HTTPClient.put(
            payload, id: "big", framing: .contentLength, to: daemon.socket)
        try require(stored.status == 201, "the payload was answered \(stored.status)")
    }

    mutating func come() throws {
        sockets = try (0..<daemon.size.clients).map { _ in
            try HTTPClient.ask("/v1/notifications/big/payload", at: daemon.socket)
        }
    }

    mutating func stay() throws -> [String] {
        // It has no place before others have been given up.
        let begin = Clock.milliseconds()
        var connection = try daemon.connect()
        let waited = Clock.milliseconds() - begin
        let given = try Clock.wait(milliseconds: 60_000) {
            try statistic("connections", &connection) == 1
        }
        try require(given, "clients that do not read keep their places")
        let draining = try statistic("draining", &connection)
        try require(
            draining > 0 && draining <= Self.drainingMax,
            "\(draining) drain; the limit is \(Self.drainingMax)")
        try connection.call(.delete("big"))
        for round in 0..<48 {
            let other = Payload(
                seed: daemon.seed &+ UInt64(1 + round), byteCount: daemon.size.bytes, kind: .noise)
            // On a busy machine a body may come too slowly for the rate that is asked of all here.
            let isStored = try Clock.wait(milliseconds: 60_000) {
                let answer = try HTTPClient.put(
                    other, id: "other-\(round % 4)", framing: .contentLength, to: daemon.socket)
                try require(
                    answer.status < 300 || answer.status == 408,
                    "a publish was answered \(answer.status)")
                return answer.status < 300
            }
            try require(isStored, "no publish is fast enough")
        }
        return ["another client served after \(waited) ms", "\(draining) drained"]
    }

    /// Each reads what it was sent, up to its end, and compares it with the start of the payload.
    mutating func leave() throws -> [String] {
        let expected = payload.bytes()
        var total = 0
        for (number, socket) in sockets.enumerated() {
            var answer: [UInt8] = []
            _ = try socket.receive(into: &answer) { _ in false }
            guard let head = answer.firstRange(of: Array("\r\n\r\n".utf8)) else { continue }
            let body = answer[head.upperBound...]
            try require(
                body.count <= expected.count
                    && body.span.bytes.equals(expected.span.bytes.extracting(first: body.count)),
                "client \(number) got wrong bytes")
            total += body.count
        }
        try require(total > 0, "no client was sent anything")
        sockets = []
        // On a busy machine that took longer than a daemon keeps a connection without requests.
        let isOver = try Clock.wait(milliseconds: 30_000) {
            try daemon.number("draining") == 0 && daemon.number("leases") == 0
        }
        try require(isOver, "sockets drain although everything has been read")
        return ["\(mebibytes(total)) of what they were sent compared"]
    }
}

/// A client that reads a byte a second, of a payload that is deleted, while others replace everything.
struct SlowCrowd: CrowdKind {
    static let name = "slow"
    static let abstract = "Clients that read one byte a second, under churn."
    static let discussion = """
        The daemon runs without its own rule against slow clients. The data file may not outgrow the \
        live bytes by more than half and what is being freed; others' times are compared with those \
        before the slow clients came; and what they get in the end, of payloads long deleted, are those \
        payloads.
        """
    static let sizes = (
        usual: CrowdSize(clients: 4, seconds: 60, bytes: 50_000_000),
        short: CrowdSize(clients: 4, seconds: 3, bytes: 5_000_000)
    )
    static func arguments(_ size: CrowdSize) -> [String] { [DaemonFlag.rate, "0"] }
    static func byteCountMax(_ size: CrowdSize, isShort: Bool) -> (beside: Int?, after: Int?) {
        ((64 + 32) << 20, (64 + 32) << 20)
    }

    let daemon: CrowdedDaemon
    private var generator: SeededGenerator
    private var clients: [(socket: RawSocket, payload: Payload, answer: [UInt8])] = []
    /// The others' 99th percentile without slow clients, in microseconds.
    private var usual = 0

    init(_ daemon: CrowdedDaemon) {
        self.daemon = daemon
        generator = SeededGenerator(seed: daemon.seed)
    }

    mutating func prepare() throws {
        let end = Clock.milliseconds() + max(2, daemon.size.seconds / 4) * 1_000
        var times: [Int] = []
        while Clock.milliseconds() < end { times += try churn() }
        usual = percentile(99, of: times)
    }

    /// Each asks for a payload of its own, which is deleted when it has the first bytes.
    mutating func come() throws {
        var connection = try daemon.connect()
        for number in 0..<daemon.size.clients {
            let payload = Payload(
                seed: generator.next(), byteCount: daemon.size.bytes, kind: .noise)
            let id = "slow-\(number)"
            let bytes = payload.bytes()
            try connection.put(PutRequest(id: id, mediaType: payload.mediaType), bytes.span.bytes)
            try require(try connection.get(id).bytes == bytes, "it comes back with other bytes")
            let socket = try HTTPClient.ask("/v1/notifications/\(id)/payload", at: daemon.socket)
            var answer: [UInt8] = []
            _ = try socket.receive(into: &answer) { HTTPClient.statusLine(of: $0) != nil }
            try require(
                HTTPClient.statusLine(of: answer) == 200, "a slow client is not served")
            try connection.call(.delete(id))
            clients.append((socket, payload, answer))
        }
    }

    mutating func stay() throws -> [String] {
        let begin = Clock.milliseconds()
        let end = begin + daemon.size.seconds * 1_000
        var (times, turn) = ([Int](), 0)
        while Clock.milliseconds() < end {
            times += try churn()
            guard Clock.milliseconds() > begin + turn * 1_000 else { continue }
            turn += 1
            for index in clients.indices {
                guard
                    case .moved = clients[index].socket.receive(
                        into: &clients[index].answer, limit: 1)
                else { throw TestFailure("slow client \(index) has nothing to read") }
            }
        }
        var connection = try daemon.connect()
        let (live, file) = (
            try statistic("bytes_stored", &connection), try statistic("file_bytes", &connection)
        )
        // What may be on its way to being freed are two transactions.
        let limit = live * 3 / 2 + clients.count * daemon.size.bytes + 128 << 20
        try require(
            file <= limit,
            "the data file has \(mebibytes(file)) for \(mebibytes(live)) that live; the limit is \(mebibytes(limit))"
        )
        let p99 = percentile(99, of: times)
        // Only what a person would notice counts as slowed down.
        try require(
            daemon.isShort || p99 <= max(10 * usual, 100_000),
            "the others' 99th percentile went from \(usual) µs to \(p99) µs")
        return [
            "others' 99th percentile \(usual) µs without, \(p99) µs beside, \(times.count) changes",
            "data file \(mebibytes(file)), live \(mebibytes(live))",
        ]
    }

    /// Each reads the rest, and compares all of it.
    mutating func leave() throws -> [String] {
        for (number, client) in clients.enumerated() {
            var answer = client.answer
            guard let head = answer.firstRange(of: Array("\r\n\r\n".utf8)) else {
                throw TestFailure("the head has no end")
            }
            let (start, expected) = (head.upperBound, client.payload.bytes())
            _ = try client.socket.receive(into: &answer) { $0.count >= start + expected.count }
            let body = answer[start...]
            try require(
                body.span.bytes.equals(expected.span.bytes),
                "slow client \(number) got \(body.count) bytes that are not its payload's \(expected.count)"
            )
        }
        clients = []
        return []
    }

    /// Changes a few notifications, each on a thread of its own. Returns how long each change took, in microseconds.
    private mutating func churn() throws -> [Int] {
        let (count, daemon, seed) = (4, daemon, generator.next())
        let times = Counts(count)
        try Threads.run(count) { index in
            var generator = SeededGenerator(seed: seed, thread: index)
            var connection = try daemon.connect()
            let id = "churn-\(index)-\(generator.below(32))"
            let payload = Payload.random(1_000...1_000_000, using: &generator)
            let bytes = payload.bytes()
            let begin = Clock.nanoseconds()
            if generator.chance(15) {
                do throws(ClientError) { try connection.call(.delete(id)) } catch .notFound {}
            } else {
                try connection.put(
                    PutRequest(id: id, mediaType: payload.mediaType, lifetime: .seconds(3_600)),
                    bytes.span.bytes)
            }
            times.set(index, (Clock.nanoseconds() - begin) / 1_000)
        }
        return times.all
    }
}
