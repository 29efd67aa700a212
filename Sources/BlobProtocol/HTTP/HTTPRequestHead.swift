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
    ///
    /// Calling this again and again with a buffer that grows costs the square of its size; keep a
    /// `HeadScanner` with each connection and use `read(_:resuming:)`.
    public static func parse(
        _ bytes: RawSpan
    ) throws(ProtocolError) -> (head: HTTPRequestHead, consumed: Int)? {
        var head = HTTPRequestHead()
        guard let consumed = try head.read(bytes) else { return nil }
        return (head, consumed)
    }

    /// Like `parse(_:)`, for a buffer that grows: see ``read(_:resuming:)``.
    public static func parse(
        _ bytes: RawSpan, resuming scanner: inout HeadScanner
    ) throws(ProtocolError) -> (head: HTTPRequestHead, consumed: Int)? {
        var head = HTTPRequestHead()
        guard let consumed = try head.read(bytes, resuming: &scanner) else { return nil }
        return (head, consumed)
    }

    /// Reads the head at the start of a buffer that grows, into a new value: the first call reads what there is,
    /// later ones only look for the head's end from where the last one stopped, and read the head when it is whole.
    /// Linear in the size of the head however it arrives. `bytes` must begin at the same byte in each call until a
    /// head is returned; `scanner` then starts again by itself.
    ///
    /// - Returns: how many bytes the head has; nil when more are needed, and then the value is of no use.
    public mutating func read(
        _ bytes: RawSpan, resuming scanner: inout HeadScanner
    ) throws(ProtocolError) -> Int? {
        if scanner.isFresh {
            if let consumed = try read(bytes) { return consumed }
            _ = try scanner.scan(bytes)
            return nil
        }
        guard try scanner.scan(bytes) else { return nil }
        scanner = HeadScanner()
        return try read(bytes)
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

/// Looks for the empty line that ends a request's head, and remembers how far it got. A value of 40
/// bytes to keep with each connection.
public struct HeadScanner: Sendable, Hashable {
    private var position = 0
    private var lineStart = 0
    /// Where the header section begins; 0 as long as the request line is not whole.
    private var sectionStart = 0
    private var emptyLineCount = 0

    /// A scanner that has seen nothing.
    public init() {}

    /// Whether nothing has been looked at yet.
    public var isFresh: Bool { position == 0 }

    /// Looks at the bytes that were added since the last call: true when the head's end is among
    /// them. Throws when a limit is passed or a line ends in a bare LF, as the parser will.
    mutating func scan(_ bytes: RawSpan) throws(ProtocolError) -> Bool {
        while position < bytes.byteCount {
            let index = position
            position += 1
            guard bytes.byte(index) == 0x0A else { continue }
            guard index > lineStart, bytes.byte(index - 1) == 0x0D else { throw HeadParser.bareLF }
            let lineByteCount = index - 1 - lineStart
            lineStart = position
            if sectionStart > 0 {
                try HeadParser.checkSection(byteCount: position - sectionStart)
                if lineByteCount == 0 { return true }
            } else if lineByteCount == 0 {
                emptyLineCount += 1
                try HeadParser.checkEmptyLines(emptyLineCount)
            } else {
                try HeadParser.checkRequestLine(byteCount: lineByteCount)
                sectionStart = position
            }
        }
        if sectionStart > 0 {
            try HeadParser.checkSection(byteCount: position - sectionStart)
        } else {
            // The last byte may be the CR of the line's end.
            try HeadParser.checkRequestLine(byteCount: position - 1 - lineStart)
        }
        return false
    }
}
