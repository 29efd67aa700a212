// Finding where a run of bytes of one kind ends, sixteen bytes at a time. A kind is written as
// arithmetic that sets the highest bit of every byte that is not of it: sums in lanes of their own,
// which every processor has, and no comparisons, which Swift makes lane by lane.

extension RawSpan {
    /// Where the token from `start` on ends (RFC 9110, section 5.6.2).
    @inline(__always)
    func tokenEnd(from start: Int) -> Int {
        var index = plainNameEnd(from: start)
        while index < byteCount, Token.isToken(uncheckedByte(index)) { index &+= 1 }
        return index
    }

    /// Where the letters, digits, `-` and `.` from `start` on end. Names of fields and hosts seldom have other bytes.
    @inline(__always)
    func plainNameEnd(from start: Int) -> Int {
        end(from: start) { bytes in
            let lowercased = bytes | 0x20
            let letters = (lowercased &+ 0x1F) & ~(lowercased &+ 0x05)
            // `-` to `9`, and no `/`.
            let others = (bytes &+ 0x53) & ~(bytes &+ 0x46) & ((bytes ^ 0x2F) &+ 0x7F)
            return ~(letters | others) | bytes
        }
    }

    /// Where the bytes from `start` on that may stand in a field's value end: see
    /// ``Token/isFieldContent(_:)``.
    func fieldContentEnd(from start: Int) -> Int {
        var index = plainContentEnd(from: start)
        while index < byteCount, Token.isFieldContent(uncheckedByte(index)) { index &+= 1 }
        return index
    }

    /// The same without tabs; `start` in less than sixteen bytes.
    @inline(__always)
    func plainContentEnd(from start: Int) -> Int {
        end(from: start) { bytes in ~bytes & (~(bytes &+ 0x60) | (bytes &+ 1)) }
    }

    /// Where the bytes from `start` on that may stand between the quotes of an entity tag end (RFC
    /// 9110, section 8.8.3).
    func entityTagEnd(from start: Int) -> Int {
        var index = end(from: start) { bytes in
            (~bytes & (~(bytes &+ 0x5F) | (bytes &+ 1))) | ~((bytes ^ 0x22) &+ 0x7F | bytes)
        }
        while index < byteCount {
            let byte = uncheckedByte(index)
            guard byte > 0x20, byte != 0x7F, byte != UInt8(ascii: "\"") else { break }
            index &+= 1
        }
        return index
    }

    /// Whether CR LF stands at `offset`, which may lie past the end.
    @inline(__always)
    func isLineEnd(_ offset: Int) -> Bool {
        offset &+ 2 <= byteCount
            && unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt16.self).littleEndian
                == 0x0A0D
    }

    /// Where the bytes from `start` on that may stand in the path of a request target end: those of
    /// ``targetEnd(from:)`` but `?`.
    @inline(__always)
    func pathEnd(from start: Int) -> Int {
        var index = end(from: start) { bytes in
            bytes | ~(bytes &+ 0x5F) | (bytes &+ 1)
                | ~(((bytes ^ 0x23) &+ 0x7F) & ((bytes ^ 0x3F) &+ 0x7F))
        }
        while index < byteCount, uncheckedByte(index) != UInt8(ascii: "?"),
            Self.isOfTarget(uncheckedByte(index))
        {
            index &+= 1
        }
        return index
    }

    /// Where the bytes from `start` on that may stand in a request target end: visible ASCII but
    /// `#`, since a fragment is never sent (RFC 9110, section 7.1).
    func targetEnd(from start: Int) -> Int {
        var index = start
        while index < byteCount, Self.isOfTarget(uncheckedByte(index)) { index &+= 1 }
        return index
    }

    @inline(__always)
    private static func isOfTarget(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "#")
    }

    /// Where the first byte from `start` on stands for which `faults` sets the highest bit. Of
    /// less than sixteen bytes none is looked at.
    @inline(__always)
    private func end(
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
        // The last sixteen, of which some have been looked at.
        let last = unsafeBitCast(faults(unchecked(lastStart)) & 0x80, to: UInt128.self).littleEndian
        let found = last &>> UInt128(truncatingIfNeeded: 8 &* (index &- lastStart))
        return found == 0 ? byteCount : index &+ found.trailingZeroBitCount &>> 3
    }

    /// The sixteen bytes at `offset`, which must lie within the span.
    @inline(__always)
    private func unchecked(_ offset: Int) -> SIMD16<UInt8> {
        unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: SIMD16<UInt8>.self)
    }

    /// The byte at `offset`, which must lie within the span: the caller has just compared it.
    @inline(__always)
    func uncheckedByte(_ offset: Int) -> UInt8 {
        unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self)
    }
}
