// Reads bytes of spans by position. The standard library checks every read; callers check lengths first, so that
// damaged bytes are an error instead of a trap. All of it can be inlined into other modules: as calls, especially
// generic ones, these functions would cost many times their work.

#if _endian(big)
#error("words are little-endian in a file, and are taken from memory as they are")
#endif

extension RawSpan {
    /// The byte at `offset`, which must be within the span.
    @inlinable
    @inline(__always)
    package func byte(_ offset: Int) -> UInt8 {
        unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }

    /// The byte at `offset`, which must be within the span: the caller has just checked it.
    @inlinable
    @inline(__always)
    package func uncheckedByte(_ offset: Int) -> UInt8 {
        unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self)
    }

    /// A little-endian integer at `offset`, which may be unaligned and must be within the span.
    ///
    /// The standard library calls the load unsafe because some types have forbidden bit patterns.
    /// Fixed-width integers have none.
    @inlinable
    @inline(__always)
    package func integer<T: FixedWidthInteger & BitwiseCopyable>(
        _ offset: Int, as: T.Type = T.self
    ) -> T {
        T(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: T.self))
    }

    /// Eight bytes at `offset`, unchanged.
    @inlinable
    @inline(__always)
    package func word(_ offset: Int) -> UInt64 {
        unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }

    /// Words of a file at an offset, which may be unaligned and must be within the span. They are little-endian, and
    /// used unchanged.
    @inlinable
    @inline(__always)
    package func words<Value: BitwiseCopyable>(
        _ offset: Int, as: Value.Type = Value.self
    ) -> Value {
        unsafeLoadUnaligned(fromByteOffset: offset, as: Value.self)
    }

    @inlinable
    package func isZero(from lower: Int, upTo upper: Int) -> Bool {
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
    @inlinable
    package func array() -> [UInt8] {
        guard byteCount > 0 else { return [] }
        // Twice as fast as the initializer, which is generic.
        var copy: [UInt8] = []
        copy.reserveCapacity(byteCount)
        copy.append(contentsOf: self)
        return copy
    }

    /// The bytes as text, with U+FFFD for invalid UTF-8.
    @inlinable
    @inline(__always)
    package func text() -> String { withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }

    /// The bytes as text for an error's detail: in quotes, at most 64 bytes.
    package func excerpt() -> String {
        let byteCountMax = 64
        guard byteCount > byteCountMax else { return "\"\(text())\"" }
        return "\"\(extracting(first: byteCountMax).text())…\""
    }
}
