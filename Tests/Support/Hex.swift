/// The bytes that pairs of hexadecimal digits stand for; spaces and line breaks are left out.
public func hex(_ text: String) -> [UInt8] {
    let digits = text.utf8.compactMap { byte -> UInt8? in
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x61...0x66: byte - 0x57
        default: nil
        }
    }
    precondition(digits.count.isMultiple(of: 2))
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

extension [UInt8] {
    /// A copy in which one bit is flipped.
    public func flipping(bit: Int) -> [UInt8] {
        var copy = self
        copy[bit / 8] ^= 1 << UInt8(bit % 8)
        return copy
    }

    /// Where `other` stands in it for the first time.
    public func firstRange(of other: [UInt8]) -> Range<Int>? {
        guard let first = other.first, count >= other.count else { return nil }
        return withUnsafeBytes { bytes in
            other.withUnsafeBytes { wanted in
                for start in 0...(bytes.count - wanted.count) where bytes[start] == first {
                    let piece = UnsafeRawBufferPointer(
                        rebasing: bytes[start..<start + wanted.count])
                    if piece.elementsEqual(wanted) { return start..<start + wanted.count }
                }
                return nil
            }
        }
    }
}
