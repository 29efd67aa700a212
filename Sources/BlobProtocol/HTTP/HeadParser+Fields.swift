import Bytes

struct SeenFields {
    var connectionClose = false
    var connectionKeepAlive = false
    var transferEncodingCount = 0
    var isTransferEncodingChunked = false
    var transferEncoding = Slice.empty
    var rangeCount = 0
    var hasContentRange = false
    var expectation: Slice?
    var expectsContinue = false
}

/// The fields with a meaning for every request. Others are checked and ignored.
enum KnownField {
    case host, range, expect, ifMatch, ifRange, connection, contentType, ifNoneMatch, contentRange
    case contentLength, acceptEncoding, contentEncoding, transferEncoding

    init?(_ name: RawSpan) {
        switch name.byteCount {
        case 4 where name.equalsIgnoringCase("host"): self = .host
        case 5 where name.equalsIgnoringCase("range"): self = .range
        case 6 where name.equalsIgnoringCase("expect"): self = .expect
        case 8 where name.equalsIgnoringCase("if-match"): self = .ifMatch
        case 8 where name.equalsIgnoringCase("if-range"): self = .ifRange
        case 10 where name.equalsIgnoringCase("connection"): self = .connection
        case 12 where name.equalsIgnoringCase("content-type"): self = .contentType
        case 13 where name.equalsIgnoringCase("if-none-match"): self = .ifNoneMatch
        case 13 where name.equalsIgnoringCase("content-range"): self = .contentRange
        case 14 where name.equalsIgnoringCase("content-length"): self = .contentLength
        case 15 where name.equalsIgnoringCase("accept-encoding"): self = .acceptEncoding
        case 16 where name.equalsIgnoringCase("content-encoding"): self = .contentEncoding
        case 17 where name.equalsIgnoringCase("transfer-encoding"): self = .transferEncoding
        default: return nil
        }
    }

    /// Whether a name with this first letter and length may be a known field; most others are not.
    @inline(__always)
    static func mayBe(_ first: UInt8, _ count: Int) -> Bool {
        initials(count) &>> UInt32(first & 31) & 1 == 1
    }

    /// The first letters of names of this length, as a bit for each position in the alphabet.
    @inline(__always)
    private static func initials(_ count: Int) -> UInt32 {
        let (a, c, e, h): (UInt32, UInt32, UInt32, UInt32) = (1 << 1, 1 << 3, 1 << 5, 1 << 8)
        let (i, r, t): (UInt32, UInt32, UInt32) = (1 << 9, 1 << 18, 1 << 20)
        switch count {
        case 4: return h
        case 5: return r
        case 6: return e
        case 8: return i
        case 10, 12, 14, 16: return c
        case 13: return c | i
        case 15: return a
        case 17: return t
        default: return 0
        }
    }
}

extension HeadParser {
    /// Records one field line. Only its name may be unknown.
    @inline(never)
    mutating func note(
        _ bytes: RawSpan, _ name: Range<Int>, _ lower: Int, upTo upper: Int,
        _ head: inout HTTPRequestHead
    ) throws(ProtocolError) {
        guard let field = KnownField(bytes.extracting(name)) else { return }
        let value = Slice(lower, upTo: upper)
        switch field {
        case .host: try host(bytes, value, &head)
        case .range:
            fields.rangeCount += 1
            head.range = WireRange(value.of(bytes))
        case .expect: expect(bytes, value)
        case .ifMatch: try head.ifMatch.append(value, name: "If-Match")
        case .ifRange: try Self.once(&head.ifRange, value, "If-Range")
        case .connection: connection(value.of(bytes))
        case .contentType: try Self.once(&head.contentType, value, "Content-Type")
        case .ifNoneMatch: try head.ifNoneMatch.append(value, name: "If-None-Match")
        case .contentRange: fields.hasContentRange = true
        case .contentLength: try contentLength(value.of(bytes), &head)
        case .acceptEncoding: head.acceptEncoding.add(value.of(bytes))
        case .contentEncoding: try Self.once(&head.contentEncoding, value, "Content-Encoding")
        case .transferEncoding:
            fields.transferEncodingCount += 1
            fields.isTransferEncodingChunked = value.of(bytes).equalsIgnoringCase("chunked")
            fields.transferEncoding = value
        }
    }

    mutating func finish(
        _ bytes: RawSpan, _ head: inout HTTPRequestHead
    ) throws(ProtocolError) {
        // RFC 9112, section 3.2.
        try require(
            head.hostCount == 1 || (head.hostCount == 0 && head.minorVersion == 0), .malformed,
            "the request has \(head.hostCount) Host fields; it must have 1")
        try finishTransferCoding(bytes, &head)
        // RFC 9112, section 9.3.
        head.keepAlive =
            !fields.connectionClose && (head.minorVersion == 1 || fields.connectionKeepAlive)
        // RFC 9110, section 10.1.1.
        if let expectation = fields.expectation {
            throw ProtocolError(
                .expectationFailed,
                "unknown expectation \(expectation.of(bytes).excerpt()); only 100-continue is supported"
            )
        }
        head.expectsContinue = fields.expectsContinue && head.minorVersion == 1 && head.hasBody
        // RFC 9110, section 14.2: two Range fields are not valid, and other methods ignore the field.
        if fields.rangeCount > 1 || head.method != .get { head.range = nil }
        // RFC 9110, section 14.5: storing a piece as the whole would lose the rest.
        if fields.hasContentRange, head.method == .put {
            throw ProtocolError(
                .malformed, "Content-Range is not supported in a PUT; send the whole payload")
        }
    }

    /// Refuses whatever could make two programs disagree about a body's length (RFC 9112, section 6).
    private func finishTransferCoding(
        _ bytes: RawSpan, _ head: inout HTTPRequestHead
    ) throws(ProtocolError) {
        guard fields.transferEncodingCount > 0 else { return }
        try require(
            head.contentLength == nil, .malformed,
            "Content-Length and Transfer-Encoding exclude each other")
        try require(head.minorVersion == 1, .malformed, "HTTP/1.0 does not have Transfer-Encoding")
        guard fields.transferEncodingCount == 1, fields.isTransferEncodingChunked else {
            let text = fields.transferEncoding.of(bytes).excerpt()
            throw ProtocolError(
                .unsupportedTransferCoding,
                "unknown transfer coding \(text); only chunked is supported"
            )
        }
        head.isChunked = true
    }

    private static func once(
        _ field: inout Slice?, _ value: Slice, _ name: StaticString
    ) throws(ProtocolError) {
        guard field == nil else { throw ProtocolError(.malformed, "\(name) is given twice") }
        field = value
    }

    /// RFC 9112, section 3.2: an invalid Host is refused. Its value is not used.
    private func host(
        _ bytes: RawSpan, _ value: Slice, _ head: inout HTTPRequestHead
    ) throws(ProtocolError) {
        head.hostCount += 1
        // A name or an IPv4 address without a port.
        if bytes.plainNameEnd(from: value.offset) == value.end { return }
        try require(
            Authority.isValid(value.of(bytes)), .malformed,
            "the Host \(value.of(bytes).excerpt()) is not valid")
    }

    /// RFC 9110, section 8.6: only digits; only once, even if both values are equal.
    private func contentLength(
        _ text: RawSpan, _ head: inout HTTPRequestHead
    ) throws(ProtocolError) {
        try require(head.contentLength == nil, .malformed, "Content-Length is given twice")
        switch Decimal.parse(text) {
        case .value(let value):
            head.contentLength = value
        case .tooLarge:
            throw ProtocolError(
                .payloadTooLarge, "Content-Length \(text.excerpt()) does not fit in 64 bits"
            )
        case .malformed:
            throw ProtocolError(.malformed, "Content-Length \(text.excerpt()) is not a number")
        }
    }

    /// RFC 9110, section 7.6.1: a list of options, two of which matter.
    private mutating func connection(_ text: RawSpan) {
        if text.equalsIgnoringCase("keep-alive") {
            fields.connectionKeepAlive = true
            return
        }
        var list = ListElements()
        while let element = list.next(text) {
            let option = text.extracting(element)
            if option.equalsIgnoringCase("close") {
                fields.connectionClose = true
            } else if option.equalsIgnoringCase("keep-alive") {
                fields.connectionKeepAlive = true
            }
        }
    }

    /// RFC 9110, section 10.1.1: a list of expectations, one of which is known.
    private mutating func expect(_ bytes: RawSpan, _ value: Slice) {
        let text = value.of(bytes)
        var list = ListElements()
        while let element = list.next(text) {
            if text.extracting(element).equalsIgnoringCase("100-continue") {
                fields.expectsContinue = true
            } else {
                fields.expectation = value
            }
        }
    }
}
