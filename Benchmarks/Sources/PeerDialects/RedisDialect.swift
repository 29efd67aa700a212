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
        try lineAnswer(
            bytes, to: kind, of: name, value: "$", stored: "+OK",
            lineByteCountMax: Self.lineByteCountMax)
    }
}
