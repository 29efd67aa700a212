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
