internal import Glibc

/// Reading the text of answers in place: no `String`, nothing allocated. For dialects.
///
/// Everything is bounds-checked; a position beyond the end finds nothing.
extension RawSpan {
    /// The position of the next line feed at or behind `start`; nil when there is none yet. Uses
    /// `memchr`, which looks at 32 bytes or more at once.
    public func lineFeed(from start: Int) -> Int? {
        guard start >= 0, start < byteCount else { return nil }
        // The span's memory is there during the call, and the pointer found lies in it.
        return withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress,
                let found = memchr(base + start, 0x0A, bytes.count - start)
            else { return nil }
            return UnsafeRawPointer(found) - base
        }
    }

    /// Whether the bytes at `offset` are those of `text`; false also when there are fewer.
    @inlinable
    public func has(_ text: StaticString, at offset: Int = 0) -> Bool {
        guard offset >= 0, offset <= byteCount, byteCount - offset >= text.utf8CodeUnitCount
        else { return false }
        return text.withUTF8Buffer { wanted in
            for index in 0..<wanted.count
            where unsafeLoad(fromByteOffset: offset + index, as: UInt8.self) != wanted[index] {
                return false
            }
            return true
        }
    }

    /// The decimal number whose first digit is at `offset`, and the position behind its last digit.
    ///
    /// - Returns: nil when there is no digit, or more than 18, which no length has.
    @inlinable
    public func decimal(at offset: Int) -> (value: Int, end: Int)? {
        guard offset >= 0 else { return nil }
        var value = 0
        var index = offset
        while index < byteCount {
            let digit = unsafeLoad(fromByteOffset: index, as: UInt8.self) &- 0x30
            if digit > 9 { break }
            if index - offset == 18 { return nil }
            value = value * 10 + Int(digit)
            index += 1
        }
        return index > offset ? (value, index) : nil
    }

    /// Up to 80 of the bytes up to the next control character, for the words of a failure. Copies.
    public func excerpt(from offset: Int = 0) -> String {
        var text: [UInt8] = []
        var index = max(0, offset)
        while index < byteCount, text.count < 80 {
            let byte = unsafeLoad(fromByteOffset: index, as: UInt8.self)
            if byte < 0x20 || byte == 0x7F { break }
            text.append(byte)
            index += 1
        }
        return String(decoding: text, as: UTF8.self)
    }
}
