public import LoadGenerator

/// memcached's meta commands (its `doc/protocol.txt`): `mg` to fetch and `ms` to store. They are
/// shorter than `get` and `set` in both directions, and memcached answers them faster.
public struct MemcachedDialect: LoadDialect {
    /// `memcached`.
    public let name = "memcached"
    /// CR LF.
    public let publishTrailer = Array("\r\n".utf8)

    /// What memcached sends before the body is shorter than this.
    private static let lineByteCountMax = 64

    /// The dialect.
    public init() {}

    /// See ``LoadDialect/appendFetch(of:to:)``.
    public func appendFetch(of item: LoadItem, to bytes: inout [UInt8]) {
        bytes += "mg \(item.id) v\r\n".utf8
    }

    /// See ``LoadDialect/appendPublish(of:to:)``.
    public func appendPublish(of item: LoadItem, to bytes: inout [UInt8]) {
        bytes += "ms \(item.id) \(item.byteCount)\r\n".utf8
    }

    /// `VA <size>` before a body and CR LF behind it, or `HD` alone for what was stored.
    public func answerHead(in bytes: RawSpan, to kind: RequestKind) throws(LoadFailure)
        -> AnswerHead?
    {
        try lineAnswer(
            bytes, to: kind, of: name, value: "VA ", stored: "HD",
            lineByteCountMax: Self.lineByteCountMax)
    }
}

/// An answer of one line: a size behind `value`, before a body and CR LF, or `stored` alone.
///
/// - Throws: `LoadFailure` for any other line, or for one that is too long.
func lineAnswer(
    _ bytes: RawSpan, to kind: RequestKind, of server: String, value: StaticString,
    stored: StaticString, lineByteCountMax: Int
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
