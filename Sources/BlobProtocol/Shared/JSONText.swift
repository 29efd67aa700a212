/// Strings in JSON (RFC 8259, section 7).
public enum JSONText {
    /// Appends a text in quotes, with `"`, `\` and control characters escaped.
    public static func append(_ text: String, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        for byte in text.utf8 { append(byte, to: &out) }
        out.append(UInt8(ascii: "\""))
    }

    /// Appends bytes, which must be UTF-8, in quotes and escaped in the same way.
    public static func append(utf8 bytes: RawSpan, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        for index in 0..<bytes.byteCount { append(bytes.byte(index), to: &out) }
        out.append(UInt8(ascii: "\""))
    }

    private static func append(_ byte: UInt8, to out: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\""): out.append("\\\"")
        case UInt8(ascii: "\\"): out.append("\\\\")
        case 0x0A: out.append("\\n")
        case 0x0D: out.append("\\r")
        case 0x09: out.append("\\t")
        case 0..<0x20, 0x7F:
            out.append("\\u00")
            out.append(Hex.digit(byte >> 4))
            out.append(Hex.digit(byte & 0xF))
        default: out.append(byte)
        }
    }
}
