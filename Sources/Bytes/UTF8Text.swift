/// Checks text that arrives as bytes.
package enum UTF8Text {
    /// What is wrong with the bytes as text; nil for well-formed UTF-8 (RFC 3629, section 4: shortest forms, no
    /// surrogates, at most U+10FFFF) without control characters (U+0000–001F, U+007F–009F). One pass.
    ///
    /// - Parameter allowingBreaks: whether to allow tabs, line feeds and carriage returns.
    package static func fault(in bytes: RawSpan, allowingBreaks: Bool = false) -> String? {
        let count = bytes.byteCount
        var index = bytes.printableByteCount
        while index < count {
            let first = bytes.byte(index)
            if first < 0x80 {
                if first < 0x20 || first == 0x7F, !(allowingBreaks && isBreak(first)) {
                    return "must not contain the control character \(name(first)) (byte \(index))"
                }
                index += 1
                continue
            }
            let length = sequenceLength(bytes, at: index, first: first, count: count)
            guard length > 0 else { return "is not valid UTF-8 at byte \(index)" }
            if first == 0xC2, bytes.byte(index + 1) < 0xA0 {
                return
                    "must not contain the control character \(name(bytes.byte(index + 1))) (byte \(index))"
            }
            index += length
        }
        return nil
    }

    private static func isBreak(_ byte: UInt8) -> Bool {
        byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    /// The length of the well-formed sequence of two to four bytes at `index`; 0 if there is none. The bounds of the
    /// second byte exclude long forms, surrogates and values above U+10FFFF.
    private static func sequenceLength(
        _ bytes: RawSpan, at index: Int, first: UInt8, count: Int
    ) -> Int {
        let length: Int
        var lowest: UInt8 = 0x80
        var highest: UInt8 = 0xBF
        switch first {
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, lowest) = (3, 0xA0)
        case 0xED: (length, highest) = (3, 0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, lowest) = (4, 0x90)
        case 0xF4: (length, highest) = (4, 0x8F)
        case 0xF1...0xF3: length = 4
        default: return 0
        }
        guard index + length <= count else { return 0 }
        let second = bytes.byte(index + 1)
        guard second >= lowest, second <= highest else { return 0 }
        for offset in 2..<max(length, 2) where bytes.byte(index + offset) & 0xC0 != 0x80 {
            return 0
        }
        return length
    }

    private static func name(_ byte: UInt8) -> String {
        let hex = String(byte, radix: 16, uppercase: true)
        return "U+" + String(repeating: "0", count: 4 - hex.count) + hex
    }
}
