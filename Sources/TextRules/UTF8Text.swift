/// Checks of text that arrives as bytes.
package enum UTF8Text {
    /// What is wrong with the bytes as text, or nil when they are well-formed UTF-8 (RFC 3629,
    /// section 4: shortest forms, no surrogates, at most U+10FFFF) without control characters
    /// (U+0000–001F, U+007F–009F). One pass.
    ///
    /// - Parameter allowingBreaks: whether there may be tabs, line feeds and carriage returns.
    package static func fault(in bytes: RawSpan, allowingBreaks: Bool = false) -> String? {
        let count = bytes.byteCount
        var index = plainByteCount(bytes)
        while index < count {
            let first = byte(bytes, index)
            if first < 0x80 {
                if first < 0x20 || first == 0x7F, !(allowingBreaks && isBreak(first)) {
                    return "must not contain the control character \(name(first)) (byte \(index))"
                }
                index += 1
                continue
            }
            let length = sequenceLength(bytes, at: index, first: first, count: count)
            guard length > 0 else { return "is not valid UTF-8 at byte \(index)" }
            if first == 0xC2, byte(bytes, index + 1) < 0xA0 {
                return
                    "must not contain the control character \(name(byte(bytes, index + 1))) (byte \(index))"
            }
            index += length
        }
        return nil
    }

    private static func isBreak(_ byte: UInt8) -> Bool {
        byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    @inline(__always)
    private static func byte(_ bytes: RawSpan, _ index: Int) -> UInt8 {
        bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self)
    }

    /// How many bytes at the start are 0x20…0x7E, in whole words of eight. The highest bit of a byte
    /// is set by what is over 0x7F, in the difference by what is under 0x20, in the sum by 0x7F; a
    /// borrow or a carry comes only from a byte that is found itself.
    private static func plainByteCount(_ bytes: RawSpan) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let tops: UInt64 = 0x8080_8080_8080_8080
        var count = 0
        while bytes.byteCount - count >= 8 {
            let word = bytes.unsafeLoadUnaligned(fromByteOffset: count, as: UInt64.self)
            guard (word | (word &- 0x20 &* ones) | (word &+ ones)) & tops == 0 else { break }
            count += 8
        }
        return count
    }

    /// The length of the well-formed sequence of two to four bytes at `index`, or 0 when there is
    /// none. The bounds of the second byte rule out long forms, surrogates and what lies past
    /// U+10FFFF.
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
        let second = byte(bytes, index + 1)
        guard second >= lowest, second <= highest else { return 0 }
        for offset in 2..<max(length, 2) where byte(bytes, index + offset) & 0xC0 != 0x80 {
            return 0
        }
        return length
    }

    private static func name(_ byte: UInt8) -> String {
        let hex = String(byte, radix: 16, uppercase: true)
        return "U+" + String(repeating: "0", count: 4 - hex.count) + hex
    }
}
