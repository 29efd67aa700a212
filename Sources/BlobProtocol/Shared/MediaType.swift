import Bytes

/// The syntax of a media type (RFC 9110, section 8.3.1).
public enum MediaType {
    /// Checks `type/subtype` and its parameters: at most 255 bytes of ASCII, and nothing that could
    /// end the field line in which the type is sent back. Throws `bad_media_type`.
    public static func check(_ bytes: RawSpan) throws(ProtocolError) {
        guard bytes.byteCount > 0 else {
            throw ProtocolError(.badMediaType, "the media type must not be empty")
        }
        guard bytes.byteCount <= WireLimits.mediaTypeByteCountMax else {
            let max = WireLimits.mediaTypeByteCountMax
            throw ProtocolError(
                .badMediaType,
                "the media type is \(bytes.byteCount) bytes long; the limit is \(max)",
                limit: max)
        }
        if let offset = fault(in: bytes) {
            throw ProtocolError(
                .badMediaType,
                "the media type must have the form type/subtype; name=value (invalid at byte \(offset))"
            )
        }
    }

    /// Where the syntax is broken, or nil.
    private static func fault(in bytes: RawSpan) -> Int? {
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
            // "type/subtype; " with nothing behind is allowed by the grammar.
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
