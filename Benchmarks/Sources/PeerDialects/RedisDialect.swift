public import LoadGenerator

/// redis' RESP: GET and SET as arrays of bulk strings, the form that it parses fastest.
public struct RedisDialect: LoadDialect {
    /// `redis`.
    public let name = "redis"
    /// CR LF.
    public let publishTrailer = Array("\r\n".utf8)

    /// What redis sends before the body is shorter than this.
    private static let lineByteCountMax = 512

    /// The dialect.
    public init() {}

    /// See ``LoadDialect/appendFetch(of:to:)``.
    public func appendFetch(of item: LoadItem, to bytes: inout [UInt8]) {
        bytes += "*2\r\n$3\r\nGET\r\n$\(item.id.utf8.count)\r\n\(item.id)\r\n".utf8
    }

    /// See ``LoadDialect/appendPublish(of:to:)``.
    public func appendPublish(of item: LoadItem, to bytes: inout [UInt8]) {
        let key = "$\(item.id.utf8.count)\r\n\(item.id)\r\n"
        bytes += "*3\r\n$3\r\nSET\r\n\(key)$\(item.byteCount)\r\n".utf8
    }

    /// `$<size>` before a body and CR LF behind it, or `+OK` for what was stored.
    public func answerHead(in bytes: RawSpan, to kind: RequestKind) throws(LoadFailure)
        -> AnswerHead?
    {
        guard let end = bytes.lineFeed(from: 0) else {
            guard bytes.byteCount < Self.lineByteCountMax else { throw refused(bytes) }
            return nil
        }
        switch kind {
        case .fetch:
            // A missing key is $-1, which is no number here.
            guard bytes.has("$"), let size = bytes.decimal(at: 1) else { throw refused(bytes) }
            return AnswerHead(
                headByteCount: end + 1, bodyByteCount: size.value, trailerByteCount: 2)
        case .publish, .opening:
            guard bytes.has("+OK") else { throw refused(bytes) }
            return AnswerHead(headByteCount: end + 1, bodyByteCount: 0)
        }
    }

    private func refused(_ bytes: RawSpan) -> LoadFailure {
        LoadFailure(.server, "redis answered \"\(bytes.excerpt())\"")
    }
}
