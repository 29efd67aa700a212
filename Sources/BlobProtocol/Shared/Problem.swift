import Bytes

/// The body of an error's answer, in both dialects: a problem document (RFC 9457).
public enum Problem {
    /// Its media type.
    public static let mediaType: StaticString = "application/problem+json"

    /// Appends `{"type","title","status","code","detail"}` and, where there is one, `"limit"`; then the
    /// error's other members.
    public static func compose(_ error: ProtocolError, into out: inout [UInt8]) {
        out.append("{\"type\":\"about:blank\",\"title\":")
        JSONText.append(error.code.title, to: &out)
        out.append(",\"status\":")
        Decimal.append(UInt64(error.status), to: &out)
        out.append(",\"code\":")
        JSONText.append(error.code.rawValue, to: &out)
        out.append(",\"detail\":")
        JSONText.append(error.detail, to: &out)
        if let limit = error.limit {
            out.append(",\"limit\":")
            Decimal.append(limit, to: &out)
        }
        for member in error.members {
            out.append(",")
            JSONText.append(member.name, to: &out)
            out.append(":")
            switch member.value {
            case .text(let text): JSONText.append(text, to: &out)
            case .texts(let texts): JSONText.append(texts, to: &out)
            case .number(let number): Decimal.append(number, to: &out)
            case .null: out.append("null")
            }
        }
        out.append("}")
    }
}
