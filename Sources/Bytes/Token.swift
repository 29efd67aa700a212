/// Tokens, quoted strings and blanks (RFC 9110, section 5.6), of which field values consist.
@usableFromInline
package enum Token {
    /// Whether a byte may occur in a token (RFC 9110, section 5.6.2).
    @inlinable
    @inline(__always)
    package static func isToken(_ byte: UInt8) -> Bool {
        // One bit for each of 128 characters: a table of two words instead of a chain of comparisons.
        let low: UInt64 = 0x03FF_6CFA_0000_0000
        let high: UInt64 = 0x57FF_FFFF_C7FF_FFFE
        if byte < 64 { return low >> UInt64(byte) & 1 == 1 }
        if byte < 128 { return high >> UInt64(byte - 64) & 1 == 1 }
        return false
    }

    /// Whether a byte is a space or a horizontal tab, the blanks of RFC 9110's OWS.
    @inlinable
    @inline(__always)
    package static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09
    }

    /// Moves `index` past one token; false, without moving, if there is none.
    package static func skip(_ bytes: RawSpan, _ index: inout Int) -> Bool {
        let start = index
        index = bytes.tokenEnd(from: start)
        return index > start
    }

    /// Moves `index` past spaces and tabs.
    package static func skipBlanks(_ bytes: RawSpan, _ index: inout Int) {
        while index < bytes.byteCount, isBlank(bytes.byte(index)) { index += 1 }
    }

    /// Moves `index` past one quoted string (RFC 9110, section 5.6.4); false, with `index` anywhere within it, if there
    /// is none or it does not end.
    package static func skipQuoted(_ bytes: RawSpan, _ index: inout Int) -> Bool {
        guard index < bytes.byteCount, bytes.byte(index) == UInt8(ascii: "\"") else { return false }
        index += 1
        while index < bytes.byteCount {
            let byte = bytes.byte(index)
            if byte == UInt8(ascii: "\"") {
                index += 1
                return true
            }
            if byte == UInt8(ascii: "\\") {
                index += 1
                guard index < bytes.byteCount else { return false }
            }
            guard isFieldContent(bytes.byte(index)) else { return false }
            index += 1
        }
        return false
    }

    /// Whether a byte may occur in a field value: visible ASCII, space, tab and obs-text, but no CR, LF, NUL or other
    /// control character (RFC 9110, section 5.5).
    @inlinable
    @inline(__always)
    package static func isFieldContent(_ byte: UInt8) -> Bool {
        (byte >= 0x20 && byte != 0x7F) || byte == 0x09
    }
}
