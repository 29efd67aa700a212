@usableFromInline
package enum Decimal {
    package enum Parsed: Sendable, Hashable {
        /// The number.
        case value(UInt64)
        /// Only digits, but too large for 64 bits.
        case tooLarge
        /// Anything other than one or more digits.
        case malformed
    }

    @inlinable
    @inline(__always)
    package static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }

    /// Parses `1*DIGIT`: no sign, no blanks, nothing after it. Leading zeros are allowed.
    package static func parse(_ text: RawSpan) -> Parsed {
        guard text.byteCount > 0 else { return .malformed }
        var value: UInt64 = 0
        var isTooLarge = false
        for index in 0..<text.byteCount {
            let byte = text.byte(index)
            guard isDigit(byte) else { return .malformed }
            let (product, overflow1) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflow2) = product.addingReportingOverflow(UInt64(byte - 0x30))
            if overflow1 || overflow2 { isTooLarge = true }
            value = sum
        }
        return isTooLarge ? .tooLarge : .value(value)
    }

    /// The digits of a number below 100,000,000, at least one: a word whose lowest byte is the first digit, and their
    /// number.
    @inlinable
    @inline(__always)
    package static func digits(under100Million value: UInt32) -> (word: UInt64, count: Int) {
        let digits = eightDigits(of: value)
        let zeroCount = min((digits & 0x0F0F_0F0F_0F0F_0F0F).trailingZeroBitCount &>> 3, 7)
        return (digits &>> UInt64(8 &* zeroCount), 8 &- zeroCount)
    }

    /// The digits of a number below 100,000,000, with leading zeros: a word whose lowest byte is the first digit.
    @inlinable
    @inline(__always)
    static func eightDigits(of value: UInt32) -> UInt64 {
        // Fields of four digits, then of two, then of one, are divided at once; the first is always the lowest.
        // Division by a constant is a multiplication, and exact for values this small.
        let fours = UInt64(value / 10_000) | UInt64(value % 10_000) &<< 32
        let hundreds = (fours &* 10_486) &>> 20 & 0x0000_007F_0000_007F
        let twos = hundreds | (fours &- 100 &* hundreds) &<< 16
        let tens = (twos &* 103) &>> 10 & 0x000F_000F_000F_000F
        let ones = tens | (twos &- 10 &* tens) &<< 8
        return ones | 0x3030_3030_3030_3030
    }

    /// The most digits that a number of 64 bits has.
    static var digitCountMax: Int { 20 }

    /// Appends a number in decimal digits, without a `String`.
    package static func append(_ value: UInt64, to out: inout [UInt8]) {
        out.append(addingCapacity: digitCountMax) { append(value, to: &$0) }
    }

    /// Appends a number, for which there must be room, however short it is.
    static func append(_ value: UInt64, to room: inout OutputSpan<UInt8>) {
        guard value >= 100_000_000 else {
            let (word, count) = digits(under100Million: UInt32(truncatingIfNeeded: value))
            return room.append(first: count, of: word)
        }
        var digits = InlineArray<20, UInt8>(repeating: 0x30)
        var first = digitCountMax
        var rest = value
        repeat {
            first -= 1
            let (tenths, digit) = rest.quotientAndRemainder(dividingBy: 10)
            digits[first] = 0x30 + UInt8(truncatingIfNeeded: digit)
            rest = tenths
        } while rest > 0
        room.append(digits.span.bytes.extracting(first..<digitCountMax))
    }

    /// Appends a number with at least `digits` decimal digits, padded with zeros.
    package static func append(_ value: UInt64, digits: Int, to out: inout [UInt8]) {
        var bound: UInt64 = 10
        var length = 1
        while length < digits, value >= bound {
            bound *= 10
            length += 1
        }
        for _ in 0..<(digits - length) { out.append(0x30) }
        append(value, to: &out)
    }
}
