public import LoadGenerator

/// redis' RESP: GET and SET as arrays of bulk strings, the form that it parses fastest.
public struct RedisDialect: LoadDialect {
    /// `redis`.
    public let name = "redis"
    /// CR LF, and the TTL where there is one.
    public let publishTrailer: [UInt8]
    /// `*3` or `*5`, and `SET`.
    private let set: String

    /// What redis sends before the body is shorter than this.
    private static let lineByteCountMax = 512

    /// The dialect.
    ///
    /// - Parameter ttlSeconds: how long what it publishes is kept (`EX`); nil: for ever.
    public init(ttlSeconds: Int? = nil) {
        let seconds = ttlSeconds.map(String.init)
        let expiry = seconds.map { "$2\r\nEX\r\n$\($0.utf8.count)\r\n\($0)\r\n" } ?? ""
        publishTrailer = Array("\r\n\(expiry)".utf8)
        set = "*\(ttlSeconds == nil ? 3 : 5)\r\n$3\r\nSET\r\n"
    }

    /// See ``LoadDialect/appendFetch(of:to:)``.
    public func appendFetch(of item: LoadItem, to bytes: inout [UInt8]) {
        bytes += "*2\r\n$3\r\nGET\r\n$\(item.id.utf8.count)\r\n\(item.id)\r\n".utf8
    }

    /// See ``LoadDialect/appendPublish(of:to:)``.
    public func appendPublish(of item: LoadItem, to bytes: inout [UInt8]) {
        let key = "$\(item.id.utf8.count)\r\n\(item.id)\r\n"
        bytes += "\(set)\(key)$\(item.byteCount)\r\n".utf8
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
