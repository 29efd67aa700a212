// Compares spans and texts by their bytes, and spans with literals without a `String`.

extension RawSpan {
    @inlinable
    @inline(__always)
    package func equals(_ literal: StaticString) -> Bool {
        byteCount == literal.utf8CodeUnitCount && contains(literal, at: 0)
    }

    /// Whether the bytes from `start` on are those of the literal. They must lie within the span.
    @inlinable
    @inline(__always)
    package func contains(_ literal: StaticString, at start: Int) -> Bool {
        // A literal's bytes are never freed.
        let other = RawSpan(_unsafeStart: literal.utf8Start, byteCount: literal.utf8CodeUnitCount)
        return isEvery(of: other, at: start) { (word, other) in word ^ other }
    }

    /// Whether the bytes equal those of the literal, ignoring the case of ASCII letters. The literal must be in lower
    /// case.
    @inlinable
    @inline(__always)
    package func equalsIgnoringCase(_ lowercased: StaticString) -> Bool {
        byteCount == lowercased.utf8CodeUnitCount && containsIgnoringCase(lowercased, at: 0)
    }

    /// Whether the bytes begin with those of the literal, ignoring case. The literal must be in lower case.
    @inlinable
    @inline(__always)
    package func hasPrefixIgnoringCase(_ lowercased: StaticString) -> Bool {
        byteCount >= lowercased.utf8CodeUnitCount && containsIgnoringCase(lowercased, at: 0)
    }

    /// Whether the bytes from `start` on, which must lie within the span, equal those of the literal, ignoring case.
    /// The literal must be in lower case.
    @inlinable
    @inline(__always)
    package func containsIgnoringCase(_ lowercased: StaticString, at start: Int) -> Bool {
        let other = RawSpan(
            _unsafeStart: lowercased.utf8Start, byteCount: lowercased.utf8CodeUnitCount)
        return isEvery(of: other, at: start) { (word, other) in
            // For letters, the bit that distinguishes case is ignored.
            let ones: UInt64 = 0x0101_0101_0101_0101
            let letters = (other &+ (0x1F &* ones)) & ~(other &+ (0x05 &* ones)) & (0x80 &* ones)
            return (word ^ other) & ~(letters &>> 2)
        }
    }

    /// Whether no word from `start` on differs from the other span's. As many bytes as that has must lie within this
    /// span. The last word may overlap the one before. The words of a literal, and their number, are known at compile
    /// time.
    @inlinable
    @inline(__always)
    func isEvery(
        of other: RawSpan, at start: Int, _ difference: (UInt64, UInt64) -> UInt64
    ) -> Bool {
        let count = other.byteCount
        if count >= 8 {
            var index = 0
            while index &+ 8 <= count {
                guard difference(uncheckedWord(start &+ index), other.uncheckedWord(index)) == 0
                else {
                    return false
                }
                index &+= 8
            }
            // The last eight, which overlap those above.
            let last = count &- 8
            return difference(uncheckedWord(start &+ last), other.uncheckedWord(last)) == 0
        }
        if count >= 4 {
            let last = count &- 4
            return difference(uncheckedHalf(start), other.uncheckedHalf(0)) == 0
                && difference(uncheckedHalf(start &+ last), other.uncheckedHalf(last)) == 0
        }
        for index in 0..<count {
            let byte = UInt64(uncheckedByte(start &+ index))
            guard difference(byte, UInt64(other.uncheckedByte(index))) == 0 else { return false }
        }
        return true
    }

    /// Eight bytes, which must lie within the span.
    @inlinable
    @inline(__always)
    func uncheckedWord(_ offset: Int) -> UInt64 {
        unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self)
    }

    /// Four bytes, which must lie within the span.
    @inlinable
    @inline(__always)
    func uncheckedHalf(_ offset: Int) -> UInt64 {
        UInt64(unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt32.self))
    }

    @inlinable
    @inline(__always)
    package func equals(_ other: RawSpan) -> Bool {
        byteCount == other.byteCount && isEvery(of: other, at: 0) { (word, other) in word ^ other }
    }
}

extension RawSpan {
    /// Less than, equal to or greater than 0, like `memcmp`. If one is a prefix of the other, the shorter one is first.
    package func order(to other: RawSpan) -> Int {
        let count = Swift.min(byteCount, other.byteCount)
        var start = 0
        while start &+ 8 <= count {
            let (left, right) = (word(start).bigEndian, other.word(start).bigEndian)
            if left != right { return left < right ? -1 : 1 }
            start &+= 8
        }
        for offset in start..<count {
            let (left, right) = (byte(offset), other.byte(offset))
            if left != right { return left < right ? -1 : 1 }
        }
        return byteCount < other.byteCount ? -1 : byteCount > other.byteCount ? 1 : 0
    }
}

extension String {
    /// Whether both have the same bytes. `==` treats é as equal whether it is one scalar or two. Most texts that
    /// differ, differ in length.
    @inlinable
    package func isSame(as other: String) -> Bool {
        utf8.count == other.utf8.count && utf8.span.bytes.equals(other.utf8.span.bytes)
    }
}

extension String? {
    package func isSame(as other: String?) -> Bool {
        switch (self, other) {
        case (nil, nil): true
        case (let left?, let right?): left.isSame(as: right)
        default: false
        }
    }
}
