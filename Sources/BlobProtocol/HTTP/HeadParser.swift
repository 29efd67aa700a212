import Bytes

/// Parses a request's head in one pass. Every step returns false if the bytes end too early.
struct HeadParser {
    var index = 0
    private var lineStart = 0
    /// The start of the header section; 0 until the request line is complete.
    private var sectionStart = 0
    var fields = SeenFields()

    mutating func parse(
        _ bytes: RawSpan, into head: inout HTTPRequestHead
    ) throws(ProtocolError) -> Bool {
        guard try skipEmptyLines(bytes), try requestLine(bytes, &head),
            try fieldLines(bytes, &head)
        else { return false }
        try finish(bytes, &head)
        return true
    }

    /// Checks the limits of an incomplete head.
    func checkUnfinished(_ bytes: RawSpan) throws(ProtocolError) {
        if sectionStart > 0 {
            try Self.checkSection(byteCount: bytes.byteCount - sectionStart)
        } else {
            try Self.checkRequestLine(byteCount: bytes.byteCount - 1 - lineStart)
        }
    }

    /// A server should ignore at least one empty line before a request (RFC 9112, section 2.2).
    private mutating func skipEmptyLines(_ bytes: RawSpan) throws(ProtocolError) -> Bool {
        var count = 0
        while index < bytes.byteCount, bytes.byte(index) == 0x0D {
            guard try lineEnd(bytes) else { return false }
            count += 1
            let max = WireLimits.leadingEmptyLineCountMax
            try require(
                count <= max, .malformed,
                "too many empty lines before the request; the limit is \(max)", limit: max)
        }
        lineStart = index
        return index < bytes.byteCount
    }

    /// `method SP request-target SP HTTP-version CRLF` (RFC 9112, section 3).
    @inline(__always)
    private mutating func requestLine(
        _ bytes: RawSpan, _ head: inout HTTPRequestHead
    ) throws(ProtocolError) -> Bool {
        let count = bytes.byteCount
        index = bytes.tokenEnd(from: index)
        guard index < count else { return false }
        guard bytes.byte(index) == 0x20, index > lineStart else {
            throw unexpected(bytes, "in the method")
        }
        head.method = HTTPMethod(bytes.extracting(lineStart..<index))
        index += 1

        let targetStart = index
        let pathEnd = bytes.pathEnd(from: index)
        index = pathEnd
        if index < count, bytes.uncheckedByte(index) == UInt8(ascii: "?") {
            index = bytes.targetEnd(from: index)
        }
        guard index < count else { return false }
        guard bytes.byte(index) == 0x20, index > targetStart else {
            throw unexpected(bytes, "in the request target")
        }
        head.target = Slice(targetStart, upTo: index)
        try RequestTarget.split(bytes, pathEnd: pathEnd, into: &head)
        index += 1
        return try httpVersion(bytes, &head)
    }

    /// `HTTP/1.1` or `HTTP/1.0`, and the end of the line (RFC 9112, section 2.3).
    @inline(__always)
    private mutating func httpVersion(
        _ bytes: RawSpan, _ head: inout HTTPRequestHead
    ) throws(ProtocolError) -> Bool {
        if index &+ 10 <= bytes.byteCount, bytes.contains("HTTP/1.1\r\n", at: index) {
            try Self.checkRequestLine(byteCount: index &+ 8 &- lineStart)
            index &+= 10
            sectionStart = index
            return true
        }
        guard let version = try otherVersion(bytes) else { return false }
        head.minorVersion = version
        let lineByteCount = index - lineStart
        guard try lineEnd(bytes) else { return false }
        try Self.checkRequestLine(byteCount: lineByteCount)
        sectionStart = index
        return true
    }

    /// The minor version if the line does not have the usual form; nil if the line is incomplete.
    @inline(never)
    private mutating func otherVersion(_ bytes: RawSpan) throws(ProtocolError) -> UInt8? {
        let start = index
        while index < bytes.byteCount, bytes.byte(index) > 0x20, bytes.byte(index) < 0x7F {
            index += 1
        }
        guard index < bytes.byteCount else { return nil }
        let version = bytes.extracting(start..<index)
        if version.equals("HTTP/1.1") { return 1 }
        if version.equals("HTTP/1.0") { return 0 }
        if version.byteCount == 8, version.extracting(first: 5).equals("HTTP/"),
            Decimal.isDigit(version.byte(5)), version.byte(6) == UInt8(ascii: "."),
            Decimal.isDigit(version.byte(7))
        {
            throw ProtocolError(
                .versionNotSupported,
                "the version is \(version.excerpt()); only HTTP/1.1 and HTTP/1.0 are supported"
            )
        }
        throw ProtocolError(.malformed, "invalid HTTP version \(version.excerpt())")
    }

    /// `field-name ":" OWS field-value OWS CRLF` (RFC 9112, section 5), and the empty line.
    @inline(__always)
    private mutating func fieldLines(
        _ bytes: RawSpan, _ head: inout HTTPRequestHead
    ) throws(ProtocolError) -> Bool {
        let count = bytes.byteCount
        var lineCount = 0
        var start = index
        while true {
            var nameEnd = bytes.plainNameEnd(from: start)
            if nameEnd >= count || bytes.uncheckedByte(nameEnd) != UInt8(ascii: ":")
                || nameEnd == start
            {
                if bytes.isLineEnd(start) {
                    index = start &+ 2
                    try Self.checkSection(byteCount: index &- sectionStart)
                    return true
                }
                nameEnd = bytes.tokenEnd(from: nameEnd)
                guard nameEnd < count, bytes.uncheckedByte(nameEnd) == UInt8(ascii: ":"),
                    nameEnd > start
                else {
                    index = nameEnd
                    return try noFieldLine(bytes, lineStart: start)
                }
            }
            var lower = nameEnd &+ 1
            while lower < count, Token.isBlank(bytes.uncheckedByte(lower)) { lower &+= 1 }
            var valueEnd = bytes.plainContentEnd(from: lower)
            if !bytes.isLineEnd(valueEnd) {
                valueEnd = bytes.fieldContentEnd(from: valueEnd)
                guard bytes.isLineEnd(valueEnd) else {
                    index = valueEnd
                    // Throws, unless the end of the line has not arrived yet.
                    if index < count { _ = try lineEnd(bytes) }
                    return false
                }
            }
            var upper = valueEnd
            while upper > lower, Token.isBlank(bytes.uncheckedByte(upper &- 1)) { upper &-= 1 }

            let nameStart = start
            start = valueEnd &+ 2
            lineCount &+= 1
            try Self.checkSection(byteCount: start &- sectionStart)
            try Self.checkFieldLines(lineCount)
            if KnownField.mayBe(bytes.uncheckedByte(nameStart), nameEnd &- nameStart) {
                try note(bytes, nameStart..<nameEnd, lower, upTo: upper, &head)
            }
        }
    }

    /// Throws the error for bytes at `index` that are neither a field line nor the empty line.
    @inline(never)
    private mutating func noFieldLine(
        _ bytes: RawSpan, lineStart: Int
    ) throws(ProtocolError) -> Bool {
        guard index < bytes.byteCount else { return false }
        guard index == lineStart else { throw unexpected(bytes, "in a field's name") }
        if bytes.byte(index) == 0x0D { return try lineEnd(bytes) }
        if Token.isBlank(bytes.byte(index)) {
            throw ProtocolError(
                .malformed, "a field line begins with a blank; folded lines are not supported")
        }
        throw unexpected(bytes, "in a field's name")
    }

    /// Refuses a CR or LF alone, although RFC 9112, section 2.2, would accept a lone LF: an attacker can exploit two
    /// programs that disagree about where a line ends.
    private mutating func lineEnd(_ bytes: RawSpan) throws(ProtocolError) -> Bool {
        guard bytes.byte(index) == 0x0D else {
            if bytes.byte(index) == 0x0A { throw Self.bareLF }
            throw unexpected(bytes, "before the line's end")
        }
        guard index + 1 < bytes.byteCount else { return false }
        guard bytes.byte(index + 1) == 0x0A else {
            throw ProtocolError(
                .malformed, "a CR at byte \(index) of the head is not followed by LF")
        }
        index += 2
        return true
    }

    private func unexpected(_ bytes: RawSpan, _ place: String) -> ProtocolError {
        if bytes.byte(index) == 0x0A { return Self.bareLF }
        let hex = String(bytes.byte(index), radix: 16, uppercase: true)
        return ProtocolError(
            .malformed, "invalid byte 0x\(hex) at byte \(index) of the head, \(place)")
    }

    private static var bareLF: ProtocolError {
        ProtocolError(.malformed, "a line of the head ends in LF; it must end in CR LF")
    }

    @inline(__always)
    private static func checkRequestLine(byteCount: Int) throws(ProtocolError) {
        guard byteCount <= WireLimits.requestLineByteCountMax else {
            throw tooLarge(
                .uriTooLong, "the request line is longer than", "bytes",
                WireLimits.requestLineByteCountMax)
        }
    }

    @inline(__always)
    private static func checkSection(byteCount: Int) throws(ProtocolError) {
        guard byteCount <= WireLimits.headerSectionByteCountMax else {
            throw tooLarge(
                .headersTooLarge, "the header section is larger than", "bytes",
                WireLimits.headerSectionByteCountMax)
        }
    }

    @inline(__always)
    private static func checkFieldLines(_ count: Int) throws(ProtocolError) {
        guard count <= WireLimits.fieldLineCountMax else {
            throw tooLarge(
                .headersTooLarge, "there are more than", "field lines",
                WireLimits.fieldLineCountMax)
        }
    }

    @inline(never)
    private static func tooLarge(
        _ code: ErrorCode, _ what: StaticString, _ unit: StaticString, _ max: Int
    ) -> ProtocolError {
        ProtocolError(code, "\(what) \(max) \(unit)", limit: max)
    }
}
