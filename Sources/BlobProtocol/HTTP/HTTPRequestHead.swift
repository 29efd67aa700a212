import Bytes

/// The head of an HTTP/1.1 request (RFC 9112): trivial values, with slices of the buffer that was parsed.
public struct HTTPRequestHead: Sendable, Hashable {
    /// The method.
    public var method = HTTPMethod.other
    /// The whole request target as sent, or an empty slice.
    public var target = Slice.empty
    /// Still percent-encoded. May be empty for an absolute target (RFC 9112, section 3.2.2), which means `/`.
    public var path = Slice.empty
    /// What follows the `?`, or an empty slice.
    public var query = Slice.empty
    /// 1 for HTTP/1.1, 0 for HTTP/1.0.
    public var minorVersion: UInt8 = 1
    /// The size of the body. Without it and `isChunked` there is no body (RFC 9112, section 6.3).
    public var contentLength: UInt64?
    /// Whether the body is chunked.
    public var isChunked = false
    /// Whether the client waits for a 100 before it sends the body. Never in HTTP/1.0 (RFC 9110, section 10.1.1).
    public var expectsContinue = false
    /// Whether another request may follow on the connection (RFC 9112, section 9.3).
    public var keepAlive = true
    /// The value of `Content-Type`, unchecked; nil if absent.
    public var contentType: Slice?
    /// The value of `Content-Encoding`; nil if absent.
    public var contentEncoding: Slice?
    /// The range; nil if absent, or if the field must be ignored (RFC 9110, section 14.2).
    public var range: WireRange?
    /// The value of `If-Range`; nil if absent.
    public var ifRange: Slice?
    /// The lines of `If-Match`. See ``EntityTags``.
    public var ifMatch = FieldLines()
    /// The lines of `If-None-Match`.
    public var ifNoneMatch = FieldLines()
    /// The codings that the client accepts.
    public var acceptEncoding = AcceptEncoding()
    /// The number of `Host` lines: 1, or in HTTP/1.0 possibly 0.
    public var hostCount = 0

    /// Creates an empty head, to be read into.
    public init() {}

    /// Whether a body follows the head.
    public var hasBody: Bool { isChunked || (contentLength ?? 0) > 0 }

    /// Whether a field compares entity tags.
    public var hasConditions: Bool {
        !ifMatch.isEmpty || !ifNoneMatch.isEmpty || ifRange != nil
    }

    /// Reads the head at the start of `bytes`; nil if more bytes are needed. `consumed` includes the empty lines around
    /// it. Throws the error to answer before the connection is closed.
    public static func parse(
        _ bytes: RawSpan
    ) throws(ProtocolError) -> (head: HTTPRequestHead, consumed: Int)? {
        var head = HTTPRequestHead()
        guard let consumed = try head.read(bytes) else { return nil }
        return (head, consumed)
    }

    /// Reads the head at the start of a growing buffer into a new value. Returns its size in bytes; nil if more bytes
    /// are needed, which leaves the value unusable. `scanner` resets itself.
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

    /// The size of `bytes` if they are empty lines and nothing else, otherwise 0. They belong to no request.
    package static func emptyLinesByteCount(_ bytes: RawSpan) -> Int {
        var end = 0
        while bytes.isLineEnd(end) { end += 2 }
        return end == bytes.byteCount ? end : 0
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

/// Decides when an incomplete head is worth parsing again: after the end of a line, or 64 more bytes.
public struct HeadScanner: Sendable, Hashable {
    /// The number of bytes at the last parse.
    fileprivate var byteCount = 0

    /// Creates a scanner in its initial state.
    public init() {}

    /// Whether it is in its initial state.
    public var isFresh: Bool { byteCount == 0 }

    fileprivate mutating func hasNews(in bytes: RawSpan) -> Bool {
        defer { byteCount = bytes.byteCount }
        return bytes.index(of: 0x0A, from: byteCount) < bytes.byteCount
            || bytes.byteCount >> 6 > byteCount >> 6
    }
}
