/// The single pass over a request's head: lines here, the meaning of the fields in
/// `HeadParser+Fields.swift`. Every step returns false when the bytes end too early.
struct HeadParser {
    var head = HTTPRequestHead()
    var index = 0
    /// Where the request line begins.
    private var lineStart = 0
    /// Where the header section begins; 0 as long as the request line is not whole.
    private var sectionStart = 0
    private var fieldLineCount = 0
    var fields = SeenFields()

    mutating func parse(_ bytes: RawSpan) throws(ProtocolError) -> Bool {
        guard try skipEmptyLines(bytes), try requestLine(bytes) else { return false }
        while index < bytes.byteCount {
            if bytes.byte(index) == 0x0D {
                guard try lineEnd(bytes) else { return false }
                try Self.checkSection(byteCount: index - sectionStart)
                try finish(bytes)
                return true
            }
            guard try fieldLine(bytes) else { return false }
        }
        return false
    }

    /// Checks the limits of a head that has not ended yet.
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
            try Self.checkEmptyLines(count)
        }
        lineStart = index
        return index < bytes.byteCount
    }

    /// `method SP request-target SP HTTP-version CRLF` (RFC 9112, section 3), with single spaces
    /// only.
    private mutating func requestLine(_ bytes: RawSpan) throws(ProtocolError) -> Bool {
        let count = bytes.byteCount
        while index < count, Token.isToken(bytes.byte(index)) { index += 1 }
        guard index < count else { return false }
        guard bytes.byte(index) == 0x20, index > lineStart else {
            throw unexpected(bytes, "in the method")
        }
        head.method = HTTPMethod(bytes.extracting(lineStart..<index))
        index += 1

        let targetStart = index
        var queryStart = -1
        // Most of a target is its path, and most of that is plain.
        index += bytes.pathByteCount(from: index)
        while index < count {
            let byte = bytes.byte(index)
            if byte == UInt8(ascii: "?"), queryStart < 0 { queryStart = index + 1 }
            // Visible ASCII; a fragment is never sent (RFC 9110, section 7.1).
            guard byte > 0x20, byte < 0x7F, byte != UInt8(ascii: "#") else { break }
            index += 1
        }
        guard index < count else { return false }
        guard bytes.byte(index) == 0x20, index > targetStart else {
            throw unexpected(bytes, "in the request target")
        }
        head.target = Slice(targetStart, upTo: index)
        try RequestTarget.split(bytes, queryStart: queryStart, into: &head)
        index += 1
        return try httpVersion(bytes)
    }

    /// `HTTP/1.1` or `HTTP/1.0` and the line's end (RFC 9112, section 2.3).
    private mutating func httpVersion(_ bytes: RawSpan) throws(ProtocolError) -> Bool {
        let start = index
        if index + 8 < bytes.byteCount, bytes.byte(index + 8) == 0x0D,
            bytes.extracting(index..<index + 8).equals("HTTP/1.1")
        {
            head.minorVersion = 1
            index += 8
            return try requestLineEnd(bytes)
        }
        while index < bytes.byteCount, bytes.byte(index) > 0x20, bytes.byte(index) < 0x7F {
            index += 1
        }
        guard index < bytes.byteCount else { return false }
        let version = bytes.extracting(start..<index)
        if version.equals("HTTP/1.1") {
            head.minorVersion = 1
        } else if version.equals("HTTP/1.0") {
            head.minorVersion = 0
        } else if version.byteCount == 8, version.extracting(first: 5).equals("HTTP/"),
            Decimal.isDigit(version.byte(5)), version.byte(6) == UInt8(ascii: "."),
            Decimal.isDigit(version.byte(7))
        {
            throw ProtocolError(
                .versionNotSupported,
                "the version is \(version.excerpt()); only HTTP/1.1 and HTTP/1.0 are supported"
            )
        } else {
            throw ProtocolError(.malformed, "invalid HTTP version \(version.excerpt())")
        }
        return try requestLineEnd(bytes)
    }

    private mutating func requestLineEnd(_ bytes: RawSpan) throws(ProtocolError) -> Bool {
        let lineByteCount = index - lineStart
        guard try lineEnd(bytes) else { return false }
        try Self.checkRequestLine(byteCount: lineByteCount)
        sectionStart = index
        return true
    }

    /// `field-name ":" OWS field-value OWS CRLF` (RFC 9112, section 5). No blank before the colon,
    /// no line that continues the one before.
    private mutating func fieldLine(_ bytes: RawSpan) throws(ProtocolError) -> Bool {
        let count = bytes.byteCount
        let start = index
        while index < count, Token.isToken(bytes.byte(index)) { index += 1 }
        guard index < count else { return false }
        guard bytes.byte(index) == UInt8(ascii: ":"), index > start else {
            if index == start, Token.isBlank(bytes.byte(index)) {
                throw ProtocolError(
                    .malformed, "a field line begins with a blank; folded lines are not supported")
            }
            throw unexpected(bytes, "in a field's name")
        }
        let name = Slice(start, upTo: index)
        index += 1
        while index < count, Token.isBlank(bytes.byte(index)) { index += 1 }
        let valueStart = index
        while index < count, Token.isFieldContent(bytes.byte(index)) { index += 1 }
        guard index < count else { return false }
        var valueEnd = index
        guard try lineEnd(bytes) else { return false }
        while valueEnd > valueStart, Token.isBlank(bytes.byte(valueEnd - 1)) { valueEnd -= 1 }

        try Self.checkSection(byteCount: index - sectionStart)
        fieldLineCount += 1
        guard fieldLineCount <= WireLimits.fieldLineCountMax else {
            let max = WireLimits.fieldLineCountMax
            throw ProtocolError(
                .headersTooLarge, "too many field lines; the limit is \(max)", limit: max)
        }
        try field(bytes, name: name, value: Slice(valueStart, upTo: valueEnd))
        return true
    }

    /// Moves past CR LF. A CR or LF alone is refused, although RFC 9112, section 2.2, would let a
    /// lone LF pass: two programs that disagree about where a line ends can be played against each
    /// other.
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
}

// The limits, shared with `HeadScanner` so that a head is refused for the same reason however it
// arrives.
extension HeadParser {
    static var bareLF: ProtocolError {
        ProtocolError(.malformed, "a line of the head ends in LF; it must end in CR LF")
    }

    static func checkEmptyLines(_ count: Int) throws(ProtocolError) {
        guard count <= WireLimits.leadingEmptyLineCountMax else {
            let max = WireLimits.leadingEmptyLineCountMax
            throw ProtocolError(
                .malformed, "too many empty lines before the request; the limit is \(max)",
                limit: max)
        }
    }

    static func checkRequestLine(byteCount: Int) throws(ProtocolError) {
        guard byteCount <= WireLimits.requestLineByteCountMax else {
            let max = WireLimits.requestLineByteCountMax
            throw ProtocolError(
                .uriTooLong, "the request line is over the limit of \(max) bytes", limit: max)
        }
    }

    static func checkSection(byteCount: Int) throws(ProtocolError) {
        guard byteCount <= WireLimits.headerSectionByteCountMax else {
            let max = WireLimits.headerSectionByteCountMax
            throw ProtocolError(
                .headersTooLarge, "the header section is over the limit of \(max) bytes", limit: max
            )
        }
    }
}
