// Reading from spans and appending to arrays: the only places where this module touches single
// bytes by position. Every read is bounds-checked by the standard library; callers check lengths
// first, so that the check never fires. They can be inlined into other modules: as calls, and
// generic ones at that, they would cost many times their work.

extension RawSpan {
    /// The byte at `offset`, which must be within the span.
    @inlinable
    package func byte(_ offset: Int) -> UInt8 {
        unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }

    /// A little-endian integer at `offset`, of any alignment, which must lie within the span.
    ///
    /// The standard library calls the load unsafe because some types have forbidden bit patterns.
    /// Fixed-width integers have none.
    @inlinable
    package func integer<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, as: T.Type) -> T {
        T(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: T.self))
    }

    /// Whether every byte from `lower` up to `upper` is zero.
    @inlinable
    func isZero(from lower: Int, upTo upper: Int) -> Bool {
        var offset = lower
        while offset &+ 8 <= upper {
            if integer(offset, as: UInt64.self) != 0 { return false }
            offset &+= 8
        }
        while offset < upper {
            if byte(offset) != 0 { return false }
            offset &+= 1
        }
        return true
    }

    /// A copy of the bytes.
    package func array() -> [UInt8] {
        var out: [UInt8] = []
        out.append(contentsOf: self)
        return out
    }

    /// The bytes as text, with U+FFFD where they are not UTF-8. For messages to people.
    package func text() -> String {
        String(decoding: array(), as: UTF8.self)
    }
}

extension [UInt8] {
    /// Appends a little-endian integer.
    @inlinable
    package mutating func append<T: FixedWidthInteger & BitwiseCopyable>(littleEndian value: T) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }

    /// Appends a copy of a span's bytes.
    @inlinable
    package mutating func append(contentsOf span: RawSpan) {
        span.withUnsafeBytes { append(contentsOf: $0) }
    }

    /// Appends `count` zero bytes, as reserved fields want them.
    mutating func appendZeros(_ count: Int) {
        append(contentsOf: repeatElement(0, count: count))
    }

    /// Appends the bytes of a literal, without making a `String`.
    @inlinable
    package mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { append(contentsOf: $0) }
    }

    /// Appends the UTF-8 of a text.
    package mutating func append(text: String) {
        append(contentsOf: text.utf8)
    }

    /// Overwrites four bytes at `offset` with a little-endian integer.
    mutating func replace(at offset: Int, littleEndian value: UInt32) {
        for index in 0..<4 {
            self[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * UInt32(index)))
        }
    }
}
