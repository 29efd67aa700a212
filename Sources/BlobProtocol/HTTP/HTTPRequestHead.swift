import Bytes

/// The head of an HTTP/1.1 request (RFC 9112): everything the daemon acts upon, as plain old data
/// with slices of the buffer it was parsed from. Fields that mean nothing here are checked and
/// dropped.
public struct HTTPRequestHead: Sendable, Hashable {
    /// The method.
    public var method = HTTPMethod.other
    /// The whole request target as it was sent, or an empty slice.
    public var target = Slice.empty
    /// The path within the target, still percent-encoded. Of an absolute target (RFC 9112, section
    /// 3.2.2) it may be empty, which means `/`; of `*` it is `*`.
    public var path = Slice.empty
    /// What stands after the `?`, or an empty slice.
    public var query = Slice.empty
    /// 1 for HTTP/1.1, 0 for HTTP/1.0.
    public var minorVersion: UInt8 = 1
    /// How many bytes the body has; nil when it is not said. With neither this nor `isChunked`
    /// there is no body (RFC 9112, section 6.3).
    public var contentLength: UInt64?
    /// Whether the body comes in chunks.
    public var isChunked = false
    /// Whether the client waits for 100 before it sends the body. Never in HTTP/1.0 (RFC 9110,
    /// section 10.1.1).
    public var expectsContinue = false
    /// Whether another request may follow on the connection (RFC 9112, section 9.3).
    public var keepAlive = true
    /// The value of `Content-Type`, not checked; nil when absent.
    public var contentType: Slice?
    /// The value of `Content-Encoding`; nil when absent. A coding other than identity is for the
    /// daemon to refuse with 415 (RFC 9110, section 8.4).
    public var contentEncoding: Slice?
    /// The range asked for. Nil as well when it was malformed, in several pieces, of another
    /// unit or with another method than GET, all of which mean that the field is ignored (RFC 9110,
    /// section 14.2).
    public var range: WireRange?
    /// The value of `If-Range`; nil when absent.
    public var ifRange: Slice?
    /// The lines of `If-Match`. See ``EntityTags``.
    public var ifMatch = FieldLines()
    /// The lines of `If-None-Match`.
    public var ifNoneMatch = FieldLines()
    /// Which codings of the answer the client takes.
    public var acceptEncoding = AcceptEncoding()
    /// How many `Host` lines there were: 1, or in HTTP/1.0 also 0.
    public var hostCount = 0

    /// The head of nothing, to be read into.
    public init() {}

    /// Whether a body follows the head.
    public var hasBody: Bool { isChunked || (contentLength ?? 0) > 0 }

    /// Whether a field compares entity tags.
    public var hasConditions: Bool {
        !ifMatch.isEmpty || !ifNoneMatch.isEmpty || ifRange != nil
    }

    /// Reads the head at the start of `bytes`, in a single pass; nil when more bytes are needed.
    /// `consumed` counts the head with its empty line and the empty lines before it; the body
    /// begins there.
    ///
    /// Throws what to answer when the head is wrong: after that answer the connection must be
    /// closed, for where the next request begins is not known.
    public static func parse(
        _ bytes: RawSpan
    ) throws(ProtocolError) -> (head: HTTPRequestHead, consumed: Int)? {
        var head = HTTPRequestHead()
        guard let consumed = try head.read(bytes) else { return nil }
        return (head, consumed)
    }

    /// Reads the head at the start of a buffer that grows, into a new value. `bytes` must begin at the same byte in each
    /// call until a head is returned; `scanner` then starts again by itself.
    ///
    /// - Returns: how many bytes the head has; nil when more are needed, and then the value is of no use.
    public mutating func read(
        _ bytes: RawSpan, resuming scanner: inout HeadScanner
    ) throws(ProtocolError) -> Int? {
        if scanner.isFresh {
            if let consumed = try read(bytes) { return consumed }
        } else {
            guard scanner.hasNews(in: bytes) else { return nil }
            if let consumed = try read(bytes) {
                scanner = HeadScanner()
                return consumed
            }
        }
        scanner.byteCount = bytes.byteCount
        return nil
    }

    private mutating func read(_ bytes: RawSpan) throws(ProtocolError) -> Int? {
        var parser = HeadParser()
        guard try parser.parse(bytes, into: &self) else {
            try parser.checkUnfinished(bytes)
            return nil
        }
        return parser.index
    }
}

/// Says when a head that comes in many pieces is worth reading again: when a line has ended, of which there are few, or
/// 64 bytes have come. Kept with each connection.
public struct HeadScanner: Sendable, Hashable {
    /// How many bytes were there when it was looked at last.
    fileprivate var byteCount = 0

    /// A scanner that has seen nothing.
    public init() {}

    /// Whether nothing has been looked at yet.
    public var isFresh: Bool { byteCount == 0 }

    fileprivate mutating func hasNews(in bytes: RawSpan) -> Bool {
        defer { byteCount = bytes.byteCount }
        return bytes.index(of: 0x0A, from: byteCount) < bytes.byteCount
            || bytes.byteCount >> 6 > byteCount >> 6
    }
}
