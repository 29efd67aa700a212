import Glibc

@testable import LoadGenerator

/// A dialect with a body between a head and a trailer, both ways: `GET id` and `PUT id n` lines;
/// an answer is `$n`, the body, and a line end.
struct LineDialect: LoadDialect {
    let name = "line"
    var opening: [UInt8] = []
    let publishTrailer: [UInt8] = Array("\r\n".utf8)

    func appendFetch(of item: LoadItem, to bytes: inout [UInt8]) {
        bytes += "GET \(item.id)\r\n".utf8
    }

    func appendPublish(of item: LoadItem, to bytes: inout [UInt8]) {
        bytes += "PUT \(item.id) \(item.byteCount)\r\n".utf8
    }

    func answerHead(
        in bytes: RawSpan, to kind: RequestKind
    ) throws(LoadFailure) -> AnswerHead? {
        guard let end = bytes.lineFeed(from: 0) else { return nil }
        if bytes.has("+", at: 0) {
            return AnswerHead(headByteCount: end + 1, bodyByteCount: 0)
        }
        guard bytes.has("$"), let size = bytes.decimal(at: 1) else {
            throw LoadFailure(.server, "the server answered \(bytes.excerpt())")
        }
        return AnswerHead(headByteCount: end + 1, bodyByteCount: size.value, trailerByteCount: 2)
    }
}

/// A payload's bytes as an array.
func bytes(_ payloads: LoadPayloads, _ index: Int) -> [UInt8] {
    let span = payloads.bytes(index)
    return span.withUnsafeBytes { Array($0) }
}

/// The right answer of a server that speaks `LineDialect`.
func lineAnswer(_ body: [UInt8]) -> [UInt8] {
    Array("$\(body.count)\r\n".utf8) + body + Array("\r\n".utf8)
}

/// Reads answers that come in pieces, as a connection does: what the reader carries over stands before
/// the next piece.
///
/// - Returns: how many answers were whole.
func read(
    _ pieces: [[UInt8]], asking indices: [Int], _ dialect: any LoadDialect,
    _ payloads: LoadPayloads, check: LoadCheck = .all, to kind: RequestKind = .fetch
) throws(LoadFailure) -> Int {
    let workload = try Workload(dialect, payloads, for: .measuring)
    var reader = AnswerReader(check: check)
    var answered = 0
    for piece in pieces {
        let input = reader.carry + piece
        var offset = 0
        while offset < input.count, answered < indices.count {
            let request = PlannedRequest(
                kind: kind, index: indices[answered], intendedAt: 0, stamp: 0)
            let isWhole = try reader.take(
                input.span.bytes, from: &offset, to: request, of: workload)
            if isWhole { answered += 1 }
        }
    }
    return answered
}

/// The bytes one by one.
func singly(_ bytes: [UInt8]) -> [[UInt8]] { bytes.map { [$0] } }

/// The bytes in pieces of up to `most` bytes.
func cut(
    _ bytes: [UInt8], upTo most: Int, using generator: inout SeededGenerator
) -> [[UInt8]] {
    var pieces: [[UInt8]] = []
    var rest = bytes[...]
    while !rest.isEmpty {
        let count = 1 + generator.index(below: most)
        pieces.append(Array(rest.prefix(count)))
        rest = rest.dropFirst(count)
    }
    return pieces
}

/// Both ends of a connection: one for a connection, and the server's, whose calls do not wait.
struct Wire: ~Copyable {
    let connection: Int32
    let server: Int32

    init(sendByteCount: Int32? = nil) {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        precondition(socketpair(AF_UNIX, kind, 0, &ends) == 0)
        (connection, server) = (ends[0], ends[1])
        if var size = sendByteCount {
            setsockopt(
                connection, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
    }

    // The connection closes its end.
    deinit { close(server) }

    /// What the connection has sent so far.
    func received() -> [UInt8] {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(server, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            guard count > 0 else { return all }
            all += buffer[..<count]
        }
    }

    /// Lets the connection receive these.
    func send(_ bytes: [UInt8]) {
        precondition(Glibc.send(server, bytes, bytes.count, 0) == bytes.count)
    }
}

/// A connection with what it needs, driven by hand and by the times that the test names.
struct DrivenConnection: ~Copyable {
    let workload: Workload
    let connection: LoadConnection
    var plan: RequestPlan
    var record = LoadRecord()
    private var input = [UInt8](
        repeating: 0, count: LoadLimits.answerHeadByteCountMax + 65_536)
    private var output: [UInt8] = []

    init(
        _ payloads: LoadPayloads, _ plan: RequestPlan? = nil, on wire: borrowing Wire, depth: Int,
        for purpose: Workload.Purpose = .measuring, isPairs: Bool = false, opening: [UInt8] = []
    ) throws(LoadFailure) {
        let dialect = LineDialect(opening: opening)
        workload = try Workload(
            dialect, payloads, for: purpose, isPairs: isPairs, hasNewIDs: isPairs)
        connection = LoadConnection(
            LoadSocket(adopting: wire.connection), depth: depth, check: .all,
            opening: dialect.opening)
        self.plan = plan ?? RequestPlan(payloads)
        record.isCounting = true
    }

    mutating func send(now: Int64, limit: Int = .max) throws(LoadFailure) {
        try connection.send(limit: limit, now: now, workload, &plan, through: &output)
    }

    mutating func receive(now: Int64) throws(LoadFailure) {
        let range = try connection.receive(into: &input, waiting: false)
        try connection.take(input, range, now: now, workload, &record)
    }
}

extension RequestPlan {
    /// A plan for `payloads`, always the same.
    init(
        _ payloads: LoadPayloads, readPercent: Int = 100, schedule: RateSchedule? = nil,
        purpose: Workload.Purpose = .measuring, runStamp: UInt64 = 0x0102_0304_0506_0708
    ) {
        self.init(
            payloadCount: payloads.count, purpose: purpose, readPercent: readPercent, seed: 1,
            runStamp: runStamp, schedule: schedule)
    }
}
