// Comparing spans and texts by their bytes, and spans with literals without making a `String`.

extension RawSpan {
    @inlinable
    @inline(__always)
    package func equals(_ literal: StaticString) -> Bool {
        byteCount == literal.utf8CodeUnitCount && contains(literal, at: 0)
    }

    /// Whether the bytes from `start` on are those of the literal. As many must lie within the span.
    @inlinable
    @inline(__always)
    package func contains(_ literal: StaticString, at start: Int) -> Bool {
        isEvery(of: literal, at: start) { (word, other) in word ^ other }
    }

    /// Whether the bytes are those of the literal when ASCII letters of either case count as equal.
    /// The literal must be in lower case.
    @inlinable
    @inline(__always)
    package func equalsIgnoringCase(_ lowercased: StaticString) -> Bool {
        byteCount == lowercased.utf8CodeUnitCount && containsIgnoringCase(lowercased, at: 0)
    }

    /// Whether the bytes begin with those of the literal, letters of either case counting as equal.
    /// The literal must be in lower case.
    @inlinable
    @inline(__always)
    package func hasPrefixIgnoringCase(_ lowercased: StaticString) -> Bool {
        byteCount >= lowercased.utf8CodeUnitCount && containsIgnoringCase(lowercased, at: 0)
    }

    /// Whether the bytes from `start` on are those of the literal, letters of either case counting
    /// as equal. As many must lie within the span. The literal must be in lower case.
    @inlinable
    @inline(__always)
    package func containsIgnoringCase(_ lowercased: StaticString, at start: Int) -> Bool {
        isEvery(of: lowercased, at: start) { (word, other) in
            // Where a letter stands, the bit that tells its cases apart does not count.
            let ones: UInt64 = 0x0101_0101_0101_0101
            let letters = (other &+ (0x1F &* ones)) & ~(other &+ (0x05 &* ones)) & (0x80 &* ones)
            return (word ^ other) & ~(letters &>> 2)
        }
    }

    /// Whether no word from `start` on differs from the literal's. The literal's words and their
    /// number are known when this is compiled.
    @inlinable
    @inline(__always)
    func isEvery(
        of literal: StaticString, at start: Int, _ difference: (UInt64, UInt64) -> UInt64
    ) -> Bool {
        // The literal's bytes are there for ever.
        let other = RawSpan(
            _unsafeStart: literal.utf8Start, byteCount: literal.utf8CodeUnitCount)
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
            // The last eight, of which some have been looked at.
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

    /// Whether the bytes are those of another span. Compares words; the last one may overlap what was
    /// compared before.
    @inlinable
    @inline(__always)
    package func equals(_ other: RawSpan) -> Bool {
        let count = byteCount
        guard count == other.byteCount else { return false }
        if count >= 8 { return equals(other, by: UInt64.self) }
        if count >= 4 { return equals(other, by: UInt32.self) }
        for offset in 0..<count where byte(offset) != other.byte(offset) { return false }
        return true
    }

    /// Of two that are equally long, and no shorter than a word.
    @inlinable
    @inline(__always)
    func equals<Word: FixedWidthInteger & BitwiseCopyable>(
        _ other: RawSpan, by: Word.Type
    ) -> Bool {
        let size = MemoryLayout<Word>.size
        let last = byteCount - size
        var offset = 0
        while offset < last {
            guard integer(offset, as: Word.self) == other.integer(offset, as: Word.self) else {
                return false
            }
            offset += size
        }
        return integer(last, as: Word.self) == other.integer(last, as: Word.self)
    }
}

extension RawSpan {
    /// Less than, equal to or greater than 0 as `memcmp` has it; of two that begin alike the shorter one is
    /// first.
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
    /// Whether both are the same bytes. `==` takes é as one scalar and as two for the same text. Most
    /// that differ, differ in length.
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
