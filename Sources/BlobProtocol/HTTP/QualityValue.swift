import Bytes

/// The weights of what a client takes (RFC 9110, section 12.4.2).
enum QualityValue {
    /// The weight behind an element of a list, `OWS ";" OWS "q=" qvalue`, in thousandths; 1,000 when
    /// there is none, nil when it is malformed.
    static func weight(_ text: RawSpan) -> Int16? {
        var index = 0
        Token.skipBlanks(text, &index)
        guard index < text.byteCount else { return 1_000 }
        guard text.byte(index) == UInt8(ascii: ";") else { return nil }
        index += 1
        Token.skipBlanks(text, &index)
        let rest = text.extracting(droppingFirst: index)
        guard rest.hasPrefixIgnoringCase("q="), rest.byteCount >= 3, rest.byteCount <= 7 else {
            return nil
        }
        guard rest.byteCount == 3 || rest.byte(3) == UInt8(ascii: ".") else { return nil }
        var value: Int16
        switch rest.byte(2) {
        case UInt8(ascii: "0"): value = 0
        case UInt8(ascii: "1"): value = 1_000
        default: return nil
        }
        var unit: Int16 = 100
        for offset in 4..<max(rest.byteCount, 4) {
            guard Decimal.isDigit(rest.byte(offset)) else { return nil }
            value += unit * Int16(rest.byte(offset) - 0x30)
            unit /= 10
        }
        return value <= 1_000 ? value : nil
    }
}
