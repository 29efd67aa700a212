internal import Bytes

// What the bytes of a media type say (RFC 9110, section 8.3.1).

extension MediaType {
    /// `type/subtype`, without parameters and the blanks that may stand before their semicolon.
    @_lifetime(copy bytes)
    package static func essence(_ bytes: RawSpan) -> RawSpan {
        var count = bytes.index(of: UInt8(ascii: ";"))
        while count > 0, Token.isBlank(bytes.byte(count - 1)) { count -= 1 }
        return bytes.extracting(first: count)
    }

    /// Whether a media type is this one, which is in lower case, whatever its parameters and the case of its letters.
    package static func isType(_ bytes: RawSpan, _ type: StaticString) -> Bool {
        essence(bytes).equalsIgnoringCase(type)
    }

    /// Whether it is this one, which is in lower case, whatever its parameters.
    package func isType(_ type: StaticString) -> Bool { Self.isType(text.utf8.span.bytes, type) }

    /// Where the syntax is broken, or nil.
    static func fault(in bytes: RawSpan) -> Int? {
        // A quoted string may have obs-text for RFC 9110. Here it may not: a record is JSON, which
        // is UTF-8.
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
            // "type/subtype; " with nothing after it is allowed by the grammar.
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
