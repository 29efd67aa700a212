/// Base64 (RFC 4648).
package enum Base64 {
    /// Appends the bytes in base64url without padding (section 5).
    package static func appendURL(_ bytes: RawSpan, to out: inout [UInt8]) {
        forEachURLDigit(of: bytes) { out.append($0) }
    }

    /// Whether a text is the base64url of some bytes, such as a code that nobody may guess: the time depends on nothing but
    /// how many there are. Allocates nothing.
    package static func isURL(_ text: RawSpan, of bytes: RawSpan) -> Bool {
        var difference: UInt8 = 0
        var index = 0
        forEachURLDigit(of: bytes) { digit in
            difference |= digit ^ (index < text.byteCount ? text.byte(index) : 0)
            index += 1
        }
        return difference == 0 && index == text.byteCount
    }

    private static func forEachURLDigit(of bytes: RawSpan, _ body: (UInt8) -> Void) {
        var bits: UInt32 = 0
        var bitCount: UInt32 = 0
        for index in 0..<bytes.byteCount {
            bits = bits << 8 | UInt32(bytes.byte(index))
            bitCount += 8
            while bitCount >= 6 {
                bitCount -= 6
                body(urlDigit(bits >> bitCount & 63))
            }
        }
        if bitCount > 0 { body(urlDigit(bits << (6 - bitCount) & 63)) }
    }

    private static func urlDigit(_ value: UInt32) -> UInt8 {
        let value = UInt8(truncatingIfNeeded: value)
        return switch value {
        case 0..<26: UInt8(ascii: "A") + value
        case 26..<52: UInt8(ascii: "a") + value - 26
        case 52..<62: UInt8(ascii: "0") + value - 52
        case 62: UInt8(ascii: "-")
        default: UInt8(ascii: "_")
        }
    }

    /// Decodes either alphabet, with or without padding; nil for anything else, and if the bits after the last byte are
    /// not zero.
    package static func decode(_ text: [UInt8]) -> [UInt8]? {
        var digits = text[...]
        while digits.last == UInt8(ascii: "="), text.count - digits.count < 2 {
            digits.removeLast()
        }
        guard digits.count == text.count || text.count % 4 == 0, digits.count % 4 != 1 else {
            return nil
        }
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var bitCount: UInt32 = 0
        for digit in digits {
            guard let value = value(digit) else { return nil }
            bits = bits << 6 | value
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> bitCount))
            }
        }
        return bits & (1 << bitCount - 1) == 0 ? bytes : nil
    }

    private static func value(_ digit: UInt8) -> UInt32? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
