/// Bytes written as hexadecimal digits.
@usableFromInline
package enum Hex {
    /// The value of a digit of either case, or nil.
    @inlinable
    @inline(__always)
    package static func value(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - 0x30
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - 0x57
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - 0x37
        default: nil
        }
    }

    /// The value of a digit in lower case, or nil.
    @inlinable
    @inline(__always)
    package static func lowercaseValue(_ byte: UInt8) -> UInt8? {
        byte < UInt8(ascii: "A") || byte > UInt8(ascii: "F") ? value(byte) : nil
    }

    /// The digit in lower case for a value under 16.
    @inlinable
    @inline(__always)
    package static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? value + 0x30 : value + 0x57
    }

    /// The eight digits in lower case of a number, the first in the highest byte of a word: all of
    /// them at once.
    @inlinable
    @inline(__always)
    package static func digits(_ value: UInt32) -> UInt64 {
        // Four bits to a byte: halves are moved apart three times.
        var nibbles = UInt64(value)
        nibbles = (nibbles | nibbles << 16) & 0x0000_FFFF_0000_FFFF
        nibbles = (nibbles | nibbles << 8) & 0x00FF_00FF_00FF_00FF
        nibbles = (nibbles | nibbles << 4) & 0x0F0F_0F0F_0F0F_0F0F
        // A nibble over 9 reaches the fifth bit when 6 is added: those are letters.
        let letters = (nibbles &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return nibbles &+ 0x3030_3030_3030_3030 &+ letters &* 0x27
    }

    /// Appends two digits in lower case for each byte.
    package static func append(_ bytes: RawSpan, to out: inout [UInt8]) {
        out.append(addingCapacity: 2 * bytes.byteCount) { room in
            room.withUnsafeMutableBufferPointer { buffer, count in
                guard let start = UnsafeMutableRawPointer(buffer.baseAddress) else { return }
                // There is room for two digits a byte, and all of them are written.
                write(bytes, to: start)
                count = 2 &* bytes.byteCount
            }
        }
    }

    /// Writes two digits in lower case for each byte. There must be room for them.
    @inlinable
    @inline(__always)
    package static func write(_ bytes: RawSpan, to start: UnsafeMutableRawPointer) {
        var offset = 0
        while offset &+ 4 <= bytes.byteCount {
            let digits = digits(UInt32(bigEndian: bytes.integer(offset, as: UInt32.self)))
            start.storeBytes(
                of: digits.bigEndian, toByteOffset: 2 &* offset, as: UInt64.self)
            offset &+= 4
        }
        while offset < bytes.byteCount {
            let byte = bytes.byte(offset)
            start.storeBytes(of: digit(byte >> 4), toByteOffset: 2 &* offset, as: UInt8.self)
            start.storeBytes(of: digit(byte & 0xF), toByteOffset: 2 &* offset &+ 1, as: UInt8.self)
            offset &+= 1
        }
    }
}
