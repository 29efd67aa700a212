/// What has been met among the field lines, to be judged when all of them are known.
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

extension HeadParser {
    /// Takes note of one field line. Names are compared without regard to case (RFC 9110, section
    /// 5.1); their length tells most of them apart.
    mutating func field(
        _ bytes: RawSpan, name: Slice, value: Slice
    ) throws(ProtocolError) {
        let field = name.of(bytes)
        let text = value.of(bytes)
        switch field.byteCount {
        case 4 where field.equalsIgnoringCase("host"):
            try host(text)
        case 5 where field.equalsIgnoringCase("range"):
            fields.rangeCount += 1
            head.range = RangeSpec(text)
        case 6 where field.equalsIgnoringCase("expect"):
            expect(bytes, value)
        case 8 where field.equalsIgnoringCase("if-match"):
            try head.ifMatch.append(value, name: "If-Match")
        case 8 where field.equalsIgnoringCase("if-range"):
            try Self.once(head.ifRange, "If-Range")
            head.ifRange = value
        case 10 where field.equalsIgnoringCase("connection"):
            connection(text)
        case 12 where field.equalsIgnoringCase("content-type"):
            try Self.once(head.contentType, "Content-Type")
            head.contentType = value
        case 13 where field.equalsIgnoringCase("if-none-match"):
            try head.ifNoneMatch.append(value, name: "If-None-Match")
        case 13 where field.equalsIgnoringCase("content-range"):
            fields.hasContentRange = true
        case 14 where field.equalsIgnoringCase("content-length"):
            try contentLength(text)
        case 15 where field.equalsIgnoringCase("accept-encoding"):
            head.acceptEncoding.add(text)
        case 16 where field.equalsIgnoringCase("content-encoding"):
            try Self.once(head.contentEncoding, "Content-Encoding")
            head.contentEncoding = value
        case 17 where field.equalsIgnoringCase("transfer-encoding"):
            fields.transferEncodingCount += 1
            fields.isTransferEncodingChunked = text.equalsIgnoringCase("chunked")
            fields.transferEncoding = value
        default:
            break
        }
    }

    /// Judges the head as a whole.
    mutating func finish(_ bytes: RawSpan) throws(ProtocolError) {
        // RFC 9112, section 3.2.
        guard head.hostCount == 1 || (head.hostCount == 0 && head.minorVersion == 0) else {
            throw ProtocolError(
                .malformed, "the request has \(head.hostCount) Host fields; it must have 1")
        }
        try finishTransferCoding(bytes)
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
        // RFC 9110, section 14.2: two Range fields are no valid one, and other methods ignore it.
        if fields.rangeCount > 1 || head.method != .get { head.range = .none }
        // RFC 9110, section 14.5: storing a piece as if it were the whole would lose the rest.
        if fields.hasContentRange, head.method == .put {
            throw ProtocolError(
                .malformed, "Content-Range is not supported in a PUT; send the whole payload")
        }
    }

    /// RFC 9112, section 6. Whatever could make two programs disagree about a body's length is
    /// refused.
    private mutating func finishTransferCoding(_ bytes: RawSpan) throws(ProtocolError) {
        guard fields.transferEncodingCount > 0 else { return }
        guard head.contentLength == nil else {
            throw ProtocolError(
                .malformed, "Content-Length and Transfer-Encoding exclude each other")
        }
        guard head.minorVersion == 1 else {
            throw ProtocolError(
                .malformed, "HTTP/1.0 does not have Transfer-Encoding")
        }
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
        _ value: Slice?, _ name: StaticString
    ) throws(ProtocolError) {
        guard value == nil else { throw ProtocolError(.malformed, "\(name) is given twice") }
    }

    /// RFC 9112, section 3.2: a Host that is none is refused. Its value is used for nothing. It is
    /// empty where the target has no authority.
    private mutating func host(_ text: RawSpan) throws(ProtocolError) {
        head.hostCount += 1
        guard text.byteCount == 0 || Authority.isValid(text) else {
            throw ProtocolError(.malformed, "the Host \(text.excerpt()) is not valid")
        }
    }

    /// RFC 9110, section 8.6: digits and nothing else; once, even if both times say the same.
    private mutating func contentLength(_ text: RawSpan) throws(ProtocolError) {
        guard head.contentLength == nil else {
            throw ProtocolError(.malformed, "Content-Length is given twice")
        }
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

    /// RFC 9110, section 7.6.1: a list of options, of which two matter.
    private mutating func connection(_ text: RawSpan) {
        var list = ListElements()
        while let element = list.next(text) {
            let option = element.of(text)
            if option.equalsIgnoringCase("close") {
                fields.connectionClose = true
            } else if option.equalsIgnoringCase("keep-alive") {
                fields.connectionKeepAlive = true
            }
        }
    }

    /// RFC 9110, section 10.1.1: a list of expectations, of which one is known.
    private mutating func expect(_ bytes: RawSpan, _ value: Slice) {
        let text = value.of(bytes)
        var list = ListElements()
        while let element = list.next(text) {
            if element.of(text).equalsIgnoringCase("100-continue") {
                fields.expectsContinue = true
            } else {
                fields.expectation = value
            }
        }
    }
}
