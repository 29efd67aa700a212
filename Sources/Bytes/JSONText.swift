/// Strings in JSON (RFC 8259, section 7), with only the required escapes: `"`, `\` and U+0000 to U+001F.
package enum JSONText {
    package static func append(_ text: String, to out: inout [UInt8]) {
        append(utf8: text.utf8.span.bytes, to: &out)
    }

    package static func append(_ texts: [String], to out: inout [UInt8]) {
        out.append(UInt8(ascii: "["))
        for (index, text) in texts.enumerated() {
            if index > 0 { out.append(UInt8(ascii: ",")) }
            append(text, to: &out)
        }
        out.append(UInt8(ascii: "]"))
    }

    /// Appends bytes, which must be UTF-8, in quotes.
    package static func append(utf8 bytes: RawSpan, to out: inout [UInt8]) {
        guard bytes.isPlainJSON else { return appendEscaped(bytes, to: &out) }
        out.append(addingCapacity: bytes.byteCount + 2) { $0.append(quoted: bytes) }
    }

    static func appendEscaped(_ bytes: RawSpan, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        var start = 0
        for index in bytes.plainJSONByteCount..<bytes.byteCount {
            let byte = bytes.byte(index)
            let isMarked = byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
            guard isMarked || byte < 0x20 else { continue }
            if index > start { out.append(contentsOf: bytes.extracting(start..<index)) }
            start = index + 1
            if isMarked {
                out.append(UInt8(ascii: "\\"))
                out.append(byte)
            } else {
                appendControl(byte, to: &out)
            }
        }
        if start < bytes.byteCount {
            out.append(contentsOf: bytes.extracting(droppingFirst: start))
        }
        out.append(UInt8(ascii: "\""))
    }

    private static func appendControl(_ byte: UInt8, to out: inout [UInt8]) {
        switch byte {
        case 0x08: out.append("\\b")
        case 0x09: out.append("\\t")
        case 0x0A: out.append("\\n")
        case 0x0C: out.append("\\f")
        case 0x0D: out.append("\\r")
        default:
            out.append("\\u00")
            out.append(Hex.digit(byte >> 4))
            out.append(Hex.digit(byte & 0xF))
        }
    }
}

extension OutputSpan<UInt8> {
    /// Appends bytes in quotes, for which there must be room.
    @inline(__always)
    mutating func append(quoted bytes: RawSpan) {
        append(UInt8(ascii: "\""))
        append(bytes)
        append(UInt8(ascii: "\""))
    }
}
