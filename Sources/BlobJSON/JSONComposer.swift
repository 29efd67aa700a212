import Bytes

extension JSONValue {
    /// Appends the value without blanks. Numbers keep their text. In strings only `"`, `\` and U+0000 to
    /// U+001F are escaped (RFC 8259, section 7).
    public func append(to out: inout [UInt8]) {
        switch self {
        case .null: out.append("null")
        case .bool(true): out.append("true")
        case .bool(false): out.append("false")
        case .number(let number): out.append(text: number.text)
        case .string(let text): JSONText.append(text, to: &out)
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
                JSONText.append(member.name, to: &out)
                out.append(UInt8(ascii: ":"))
                member.value.append(to: &out)
            }
            out.append(UInt8(ascii: "}"))
        }
    }
}
