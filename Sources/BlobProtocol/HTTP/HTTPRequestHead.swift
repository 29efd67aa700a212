import Bytes

/// The head of an HTTP/1.1 request (RFC 9112), as plain old data with slices of the buffer it was parsed from.
public struct HTTPRequestHead: Sendable, Hashable {
    /// The method.
    public var method = HTTPMethod.other
    /// The whole request target as it was sent, or an empty slice.
    public var target = Slice.empty
    /// Still percent-encoded. Of an absolute target (RFC 9112, section 3.2.2) it may be empty, which means `/`.
    public var path = Slice.empty
    /// What stands after the `?`, or an empty slice.
    public var query = Slice.empty
    /// 1 for HTTP/1.1, 0 for HTTP/1.0.
    public var minorVersion: UInt8 = 1
    /// How many bytes the body has; with neither this nor `isChunked` there is none (RFC 9112, section 6.3).
    public var contentLength: UInt64?
    /// Whether the body comes in chunks.
    public var isChunked = false
    /// Whether the client waits for 100 before it sends the body. Never in HTTP/1.0 (RFC 9110, section 10.1.1).
    public var expectsContinue = false
    /// Whether another request may follow on the connection (RFC 9112, section 9.3).
    public var keepAlive = true
    /// The value of `Content-Type`, not checked; nil when absent.
    public var contentType: Slice?
    /// The value of `Content-Encoding`; nil when absent.
    public var contentEncoding: Slice?
    /// Nil as well where the field is to be ignored (RFC 9110, section 14.2).
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

    /// Reads the head at the start of `bytes`; nil when more bytes are needed. `consumed` counts it with the empty
    /// lines around it. Throws what to answer before the connection is closed.
    public static func parse(
        _ bytes: RawSpan
    ) throws(ProtocolError) -> (head: HTTPRequestHead, consumed: Int)? {
        var head = HTTPRequestHead()
        guard let consumed = try head.read(bytes) else { return nil }
        return (head, consumed)
    }

    /// Reads the head at the start of a buffer that grows, into a new value. Returns how many bytes it has; nil when
    /// more are needed, and then the value is of no use. `scanner` starts again by itself.
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

/// Says when a head that comes in pieces is worth reading again: a line has ended, or 64 bytes have come.
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
