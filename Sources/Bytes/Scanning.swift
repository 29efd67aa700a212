// Finds the end of a run of bytes of one kind, sixteen bytes at a time. A kind is written as arithmetic that sets the
// highest bit of every other byte: sums in separate lanes, which every processor has, and no comparisons, which Swift
// compiles lane by lane.

extension RawSpan {
    /// The end of the token from `start` on (RFC 9110, section 5.6.2).
    @inlinable
    @inline(__always)
    package func tokenEnd(from start: Int) -> Int {
        var index = plainNameEnd(from: start)
        while index < byteCount, Token.isToken(uncheckedByte(index)) { index &+= 1 }
        return index
    }

    /// The end of letters, digits, `-` and `.` from `start` on. Names of fields and hosts rarely contain other bytes.
    @inlinable
    @inline(__always)
    package func plainNameEnd(from start: Int) -> Int {
        end(from: start) { bytes in
            let lowercased = bytes | 0x20
            let letters = (lowercased &+ 0x1F) & ~(lowercased &+ 0x05)
            // `-` to `9`, except `/`.
            let others = (bytes &+ 0x53) & ~(bytes &+ 0x46) & ((bytes ^ 0x2F) &+ 0x7F)
            return ~(letters | others) | bytes
        }
    }

    /// The position of the first byte from `start` on for which `faults` sets the highest bit. Returns `start` if the
    /// span has fewer than sixteen bytes.
    @inlinable
    @inline(__always)
    package func end(
        from start: Int, _ faults: (SIMD16<UInt8>) -> SIMD16<UInt8>
    ) -> Int {
        var index = start
        let lastStart = byteCount &- 16
        while index <= lastStart {
            let halves = unsafeBitCast(faults(unchecked(index)) & 0x80, to: SIMD2<UInt64>.self)
            if halves.x != 0 {
                return index &+ halves.x.littleEndian.trailingZeroBitCount &>> 3
            }
            if halves.y != 0 {
                return index &+ 8 &+ halves.y.littleEndian.trailingZeroBitCount &>> 3
            }
            index &+= 16
        }
        guard lastStart >= 0, index < byteCount else { return index }
        // The last sixteen, which overlap those above.
        let last = unsafeBitCast(faults(unchecked(lastStart)) & 0x80, to: UInt128.self).littleEndian
        let found = last &>> UInt128(truncatingIfNeeded: 8 &* (index &- lastStart))
        return found == 0 ? byteCount : index &+ found.trailingZeroBitCount &>> 3
    }

    /// The sixteen bytes at `offset`, which must be within the span.
    @inlinable
    @inline(__always)
    func unchecked(_ offset: Int) -> SIMD16<UInt8> {
        unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: SIMD16<UInt8>.self)
    }
}
