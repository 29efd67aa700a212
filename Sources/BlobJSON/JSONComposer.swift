import Bytes

extension JSONValue {
    /// Appends it without blanks, numbers as they were written, strings escaped as RFC 8259
    /// needs and no more.
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
