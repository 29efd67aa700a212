internal import Bytes

// Parsing the bytes of a media type (RFC 9110, section 8.3.1).

extension MediaType {
    /// `type/subtype`, without parameters and without blanks before the semicolon.
    @_lifetime(copy bytes)
    package static func essence(_ bytes: RawSpan) -> RawSpan {
        var count = bytes.index(of: UInt8(ascii: ";"))
        while count > 0, Token.isBlank(bytes.byte(count - 1)) { count -= 1 }
        return bytes.extracting(first: count)
    }

    /// Whether a media type is `type`, which must be in lower case. Ignores parameters and case.
    package static func isType(_ bytes: RawSpan, _ type: StaticString) -> Bool {
        essence(bytes).equalsIgnoringCase(type)
    }

    /// Whether it is `type`, which must be in lower case. Ignores parameters.
    package func isType(_ type: StaticString) -> Bool { Self.isType(text.utf8.span.bytes, type) }

    /// The position of a syntax error, or nil.
    static func fault(in bytes: RawSpan) -> Int? {
        // RFC 9110 allows obs-text in a quoted string, but a record is JSON, which is UTF-8.
        for offset in 0..<bytes.byteCount where bytes.byte(offset) >= 0x80 { return offset }
        var index = 0
        guard Token.skip(bytes, &index) else { return index }
        guard index < bytes.byteCount, bytes.byte(index) == UInt8(ascii: "/") else { return index }
        index += 1
        guard Token.skip(bytes, &index) else { return index }
        while true {
            let parameter = index
            Token.skipBlanks(bytes, &index)
            if index == bytes.byteCount { return index == parameter ? nil : parameter }
            guard bytes.byte(index) == UInt8(ascii: ";") else { return index }
            index += 1
            Token.skipBlanks(bytes, &index)
            // The grammar allows "type/subtype; " with nothing after it.
            guard Token.skip(bytes, &index) else {
                if index == bytes.byteCount { return nil }
                if bytes.byte(index) == UInt8(ascii: ";") { continue }
                return index
            }
            guard index < bytes.byteCount, bytes.byte(index) == UInt8(ascii: "=") else {
                return index
            }
            index += 1
            guard Token.skip(bytes, &index) || Token.skipQuoted(bytes, &index) else { return index }
        }
    }
}
