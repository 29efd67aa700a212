/// Bytes written as hexadecimal digits.
public enum Hex {
    /// The value of a digit of either case, or nil.
    @inline(__always)
    static func value(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - 0x30
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - 0x57
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - 0x37
        default: nil
        }
    }

    /// The digit in lower case for a value under 16.
    @inline(__always)
    static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? value + 0x30 : value + 0x57
    }

    /// Appends two digits in lower case for each byte.
    public static func append(_ bytes: RawSpan, to out: inout [UInt8]) {
        for index in 0..<bytes.byteCount {
            let byte = bytes.byte(index)
            out.append(digit(byte >> 4))
            out.append(digit(byte & 0xF))
        }
    }
}
