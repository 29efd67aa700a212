@usableFromInline
package enum Hex {
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

    @inlinable
    @inline(__always)
    package static func lowercaseValue(_ byte: UInt8) -> UInt8? {
        byte < UInt8(ascii: "A") || byte > UInt8(ascii: "F") ? value(byte) : nil
    }

    /// The lower-case digit of a value below 16.
    @inlinable
    @inline(__always)
    package static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? value + 0x30 : value + 0x57
    }

    /// Appends two lower-case digits for each byte.
    package static func append(_ bytes: RawSpan, to out: inout [UInt8]) {
        out.append(addingCapacity: 2 * bytes.byteCount) { room in
            room.withUnsafeMutableBufferPointer { buffer, count in
                guard let start = UnsafeMutableRawPointer(buffer.baseAddress) else { return }
                // There is room for two digits per byte, and all of them are written.
                write(bytes, to: start)
                count = 2 &* bytes.byteCount
            }
        }
    }

    /// Writes two lower-case digits for each byte. There must be room for them.
    @inlinable
    @inline(__always)
    package static func write(_ bytes: RawSpan, to start: UnsafeMutableRawPointer) {
        var offset = 0
        while offset &+ 16 <= bytes.byteCount {
            let sixteen = bytes.unchecked(offset)
            var text = SIMD32<UInt8>()
            text.evenHalf = digits(sixteen &>> 4 & 0x0F)
            text.oddHalf = digits(sixteen & 0x0F)
            start.storeBytes(of: text, toByteOffset: 2 &* offset, as: SIMD32<UInt8>.self)
            offset &+= 16
        }
        while offset < bytes.byteCount {
            let byte = bytes.uncheckedByte(offset)
            start.storeBytes(of: digit(byte >> 4), toByteOffset: 2 &* offset, as: UInt8.self)
            start.storeBytes(of: digit(byte & 0xF), toByteOffset: 2 &* offset &+ 1, as: UInt8.self)
            offset &+= 1
        }
    }

    /// The lower-case digits of sixteen values below 16.
    @inlinable
    @inline(__always)
    static func digits(_ values: SIMD16<UInt8>) -> SIMD16<UInt8> {
        // Adding 6 to a value above 9 sets the fifth bit: those are letters.
        let isLetter = SIMD16<UInt8>(repeating: 0) &- ((values &+ 6) &>> 4)
        return values &+ 0x30 &+ (isLetter & 0x27)
    }
}
