extension JSONValue {
    /// Appends it without blanks, numbers as they were written, strings escaped as RFC 8259,
    /// section 7, needs and no more: `"`, `\` and U+0000 to U+001F.
    public func append(to out: inout [UInt8]) {
        switch self {
        case .null: out.append(contentsOf: "null".utf8)
        case .bool(true): out.append(contentsOf: "true".utf8)
        case .bool(false): out.append(contentsOf: "false".utf8)
        case .number(let number): out.append(contentsOf: number.text.utf8)
        case .string(let text): Self.append(text, to: &out)
        case .array(let elements):
            out.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                element.append(to: &out)
            }
            out.append(UInt8(ascii: "]"))
        case .object(let members):
            out.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                Self.append(member.name, to: &out)
                out.append(UInt8(ascii: ":"))
                member.value.append(to: &out)
            }
            out.append(UInt8(ascii: "}"))
        }
    }

    /// Appends a text in quotes, escaped in the same way.
    public static func append(_ text: String, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        let bytes = text.utf8.span.bytes
        var start = 0
        for index in 0..<bytes.byteCount {
            let byte = bytes.byte(index)
            let isMarked = byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
            guard isMarked || byte < 0x20 else { continue }
            append(bytes.extracting(start..<index), to: &out)
            start = index + 1
            if isMarked {
                out.append(UInt8(ascii: "\\"))
                out.append(byte)
            } else {
                appendControl(byte, to: &out)
            }
        }
        append(bytes.extracting(droppingFirst: start), to: &out)
        out.append(UInt8(ascii: "\""))
    }

    private static func append(_ bytes: RawSpan, to out: inout [UInt8]) {
        guard bytes.byteCount > 0 else { return }
        bytes.withUnsafeBytes { out.append(contentsOf: $0) }
    }

    private static func appendControl(_ byte: UInt8, to out: inout [UInt8]) {
        switch byte {
        case 0x08: out.append(contentsOf: "\\b".utf8)
        case 0x09: out.append(contentsOf: "\\t".utf8)
        case 0x0A: out.append(contentsOf: "\\n".utf8)
        case 0x0C: out.append(contentsOf: "\\f".utf8)
        case 0x0D: out.append(contentsOf: "\\r".utf8)
        default:
            out.append(contentsOf: byte < 0x10 ? "\\u000".utf8 : "\\u001".utf8)
            let low = byte & 0xF
            out.append(low < 10 ? low + 0x30 : low + 0x57)
        }
    }
}
