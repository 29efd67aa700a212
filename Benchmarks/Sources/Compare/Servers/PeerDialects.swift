import LoadGenerator

/// memcached's meta commands (its `doc/protocol.txt`): `mg` to fetch and `ms` to store. They are
/// shorter than `get` and `set` in both directions, and memcached answers them faster.
struct MemcachedDialect: LoadDialect {
    let name = "memcached"
    let publishTrailer = Array("\r\n".utf8)

    init() {}

    func appendFetch(of item: LoadItem, to bytes: inout [UInt8]) {
        bytes += "mg \(item.id) v\r\n".utf8
    }

    func appendPublish(of item: LoadItem, to bytes: inout [UInt8]) {
        bytes += "ms \(item.id) \(item.byteCount)\r\n".utf8
    }

    /// `VA <size>` before a body and CR LF, or `HD` for a publish.
    func answerHead(in bytes: RawSpan, to kind: RequestKind) throws(LoadFailure)
        -> AnswerHead?
    {
        try lineAnswer(bytes, to: kind, of: name, value: "VA ", stored: "HD")
    }
}

/// redis' RESP: GET and SET as arrays of bulk strings, the form that it parses fastest.
struct RedisDialect: LoadDialect {
    let name = "redis"
    /// CR LF, and the TTL where there is one.
    let publishTrailer: [UInt8]
    /// `*3` or `*5`, and `SET`.
    private let set: String

    /// - Parameter ttlSeconds: how long it keeps what it publishes (`EX`); nil: without an expiry.
    init(ttlSeconds: Int? = nil) {
        let seconds = ttlSeconds.map(String.init)
        let expiry = seconds.map { "$2\r\nEX\r\n$\($0.utf8.count)\r\n\($0)\r\n" } ?? ""
        publishTrailer = Array("\r\n\(expiry)".utf8)
        set = "*\(ttlSeconds == nil ? 3 : 5)\r\n$3\r\nSET\r\n"
    }

    func appendFetch(of item: LoadItem, to bytes: inout [UInt8]) {
        bytes += "*2\r\n$3\r\nGET\r\n$\(item.id.utf8.count)\r\n\(item.id)\r\n".utf8
    }

    func appendPublish(of item: LoadItem, to bytes: inout [UInt8]) {
        let key = "$\(item.id.utf8.count)\r\n\(item.id)\r\n"
        bytes += "\(set)\(key)$\(item.byteCount)\r\n".utf8
    }

    /// `$<size>` before a body and CR LF, or `+OK` for a publish.
    func answerHead(in bytes: RawSpan, to kind: RequestKind) throws(LoadFailure)
        -> AnswerHead?
    {
        try lineAnswer(bytes, to: kind, of: name, value: "$", stored: "+OK")
    }
}

/// redis' streams: publishes in a transaction that also adds their ids to their owner's stream, for which watchers wait.
struct RedisStreamDialect: LoadDialect {
    let name = "redis"
    let publishTrailer: [UInt8]
    private let redis: RedisDialect

    init(ttlSeconds: Int) {
        redis = RedisDialect(ttlSeconds: ttlSeconds)
        publishTrailer = redis.publishTrailer + Self.command("EXEC")
    }

    private static func command(_ words: String...) -> [UInt8] {
        let words = words.map { "$\($0.utf8.count)\r\n\($0)\r\n" }
        return Array("*\(words.count)\r\n\(words.joined())".utf8)
    }

    func appendFetch(of item: LoadItem, to bytes: inout [UInt8]) {
        redis.appendFetch(of: item, to: &bytes)
    }

    func appendPublish(of item: LoadItem, to bytes: inout [UInt8]) {
        bytes += Self.command("MULTI")
        bytes += Self.command("XADD", item.owner ?? "none", "*", "id", item.id)
        redis.appendPublish(of: item, to: &bytes)
    }

    /// `+OK`, `+QUEUED` twice, and of both results the id in the stream and `+OK`: seven lines.
    func answerHead(in bytes: RawSpan, to kind: RequestKind) throws(LoadFailure) -> AnswerHead? {
        guard kind == .publish else { return try redis.answerHead(in: bytes, to: kind) }
        var start = 0
        for _ in 0..<7 {
            guard !bytes.has("-", at: start) else {
                throw refused(bytes.extracting(start..<bytes.byteCount), by: name)
            }
            guard let end = bytes.lineFeed(from: start) else { return nil }
            start = end + 1
        }
        return AnswerHead(headByteCount: start, bodyByteCount: 0)
    }

    /// Reads what follows the entry in the answer: its id is the eighth line.
    func appendWatch(
        of owner: String, after answer: RawSpan?, to bytes: inout [UInt8]
    ) throws(LoadFailure) {
        var last = "0"
        if let answer {
            var start = answer.has("\r\n") ? 2 : 0
            for _ in 0..<7 { start = answer.lineFeed(from: start).map { $0 + 1 } ?? .max }
            last = answer.excerpt(from: start)
            guard last.contains("-") else { throw refused(answer, by: name) }
        }
        bytes += Self.command("XREAD", "BLOCK", "0", "STREAMS", owner, last)
    }
}

/// More than any server sends before a body.
private let lineByteCountMax = 512

/// An answer of one line: `value` and a size, followed by a body and CR LF, or only `stored`.
///
/// - Throws: `LoadFailure` for any other line, or for one that is too long.
func lineAnswer(
    _ bytes: RawSpan, to kind: RequestKind, of server: String, value: StaticString,
    stored: StaticString
) throws(LoadFailure) -> AnswerHead? {
    guard let end = bytes.lineFeed(from: 0) else {
        guard bytes.byteCount < lineByteCountMax else { throw refused(bytes, by: server) }
        return nil
    }
    switch kind {
    case .fetch:
        // A missing key is no number: redis answers $-1.
        guard bytes.has(value), let size = bytes.decimal(at: value.utf8CodeUnitCount) else {
            throw refused(bytes, by: server)
        }
        return AnswerHead(headByteCount: end + 1, bodyByteCount: size.value, trailerByteCount: 2)
    case .publish, .opening:
        guard bytes.has(stored) else { throw refused(bytes, by: server) }
        return AnswerHead(headByteCount: end + 1, bodyByteCount: 0)
    }
}

private func refused(_ bytes: RawSpan, by server: String) -> LoadFailure {
    LoadFailure(.server, "\(server) answered \"\(bytes.excerpt())\"")
}
