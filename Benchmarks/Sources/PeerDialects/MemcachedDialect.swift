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
        guard let end = bytes.lineFeed(from: 0) else {
            guard bytes.byteCount < Self.lineByteCountMax else { throw refused(bytes) }
            return nil
        }
        switch kind {
        case .fetch:
            guard bytes.has("VA "), let size = bytes.decimal(at: 3) else { throw refused(bytes) }
            return AnswerHead(
                headByteCount: end + 1, bodyByteCount: size.value, trailerByteCount: 2)
        case .publish, .opening:
            guard bytes.has("HD") else { throw refused(bytes) }
            return AnswerHead(headByteCount: end + 1, bodyByteCount: 0)
        }
    }

    private func refused(_ bytes: RawSpan) -> LoadFailure {
        LoadFailure(.server, "memcached answered \"\(bytes.excerpt())\"")
    }
}
