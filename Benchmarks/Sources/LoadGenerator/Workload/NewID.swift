internal import Glibc

/// Ids that nobody has used: a number of 64 bits in hexadecimal. Requests are composed with a form in its place, which
/// each publish and its fetch fill in.
enum NewID {
    private static let digitCount = 16
    /// An id without its number.
    static let form = "push-" + String(repeating: "X", count: digitCount)
    private static let place = [UInt8](repeating: UInt8(ascii: "X"), count: digitCount)

    /// The digits of a publish: no two stamps have the same, and consecutive ones are far apart.
    static func digits(_ stamp: UInt64) -> [UInt8] {
        var digits = place
        write(stamp, to: &digits, from: 0)
        return digits
    }

    /// Fills in every form in `bytes` from `start` on. Does not allocate.
    static func write(_ stamp: UInt64, to bytes: inout [UInt8], from start: Int) {
        // An odd factor maps 64 bits to 64 bits one to one.
        let number = stamp &* 0x9E37_79B9_7F4A_7C15
        var start = start
        while let position = position(of: place, in: bytes.span.bytes, from: start) {
            for digit in 0..<digitCount {
                let value = UInt8(truncatingIfNeeded: number >> (60 - 4 * digit)) & 15
                bytes[position + digit] = value + UInt8(ascii: value < 10 ? "0" : "W")
            }
            start = position + digitCount
        }
    }

    /// Where `wanted`, which is not empty, begins in `bytes`, from `start` on; nil: nowhere.
    static func position(of wanted: [UInt8], in bytes: RawSpan, from start: Int) -> Int? {
        // The spans keep their memory alive during the calls, which stay within it.
        bytes.withUnsafeBytes { bytes in
            wanted.withUnsafeBytes { wanted in
                guard let base = bytes.baseAddress, let all = wanted.baseAddress else { return nil }
                let first = Int32(wanted[0])
                let end = bytes.count - wanted.count + 1
                var start = start
                while start < end, let found = memchr(base + start, first, end - start) {
                    let position = UnsafeRawPointer(found) - base
                    if memcmp(found, all, wanted.count) == 0 { return position }
                    start = position + 1
                }
                return nil
            }
        }
    }
}
