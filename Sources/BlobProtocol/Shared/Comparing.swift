// Comparing spans with literals, without making a `String`.

extension RawSpan {
    /// Whether the bytes are those of the literal.
    @inline(__always)
    package func equals(_ literal: StaticString) -> Bool {
        byteCount == literal.utf8CodeUnitCount && contains(literal, at: 0)
    }

    /// Whether the bytes from `start` on are those of the literal. As many must lie within the span.
    @inline(__always)
    func contains(_ literal: StaticString, at start: Int) -> Bool {
        isEvery(of: literal, at: start) { (word, other) in word ^ other }
    }

    /// Whether the bytes are those of the literal when ASCII letters of either case count as equal.
    /// The literal must be in lower case.
    @inline(__always)
    package func equalsIgnoringCase(_ lowercased: StaticString) -> Bool {
        byteCount == lowercased.utf8CodeUnitCount && containsIgnoringCase(lowercased, at: 0)
    }

    /// Whether the bytes begin with those of the literal, letters of either case counting as equal.
    /// The literal must be in lower case.
    @inline(__always)
    package func hasPrefixIgnoringCase(_ lowercased: StaticString) -> Bool {
        byteCount >= lowercased.utf8CodeUnitCount && containsIgnoringCase(lowercased, at: 0)
    }

    /// Whether the bytes from `start` on are those of the literal, letters of either case counting
    /// as equal. As many must lie within the span. The literal must be in lower case.
    @inline(__always)
    func containsIgnoringCase(_ lowercased: StaticString, at start: Int) -> Bool {
        isEvery(of: lowercased, at: start) { (word, other) in
            // Where a letter stands, the bit that tells its cases apart does not count.
            let ones: UInt64 = 0x0101_0101_0101_0101
            let letters = (other &+ (0x1F &* ones)) & ~(other &+ (0x05 &* ones)) & (0x80 &* ones)
            return (word ^ other) & ~(letters &>> 2)
        }
    }

    /// Whether no word from `start` on differs from the literal's. The literal's words and their
    /// number are known when this is compiled.
    @inline(__always)
    private func isEvery(
        of literal: StaticString, at start: Int, _ difference: (UInt64, UInt64) -> UInt64
    ) -> Bool {
        // The literal's bytes are there for ever.
        let other = RawSpan(
            _unsafeStart: literal.utf8Start, byteCount: literal.utf8CodeUnitCount)
        let count = other.byteCount
        if count >= 8 {
            var index = 0
            while index &+ 8 <= count {
                guard difference(word(start &+ index), other.word(index)) == 0 else {
                    return false
                }
                index &+= 8
            }
            // The last eight, of which some have been looked at.
            let last = count &- 8
            return difference(word(start &+ last), other.word(last)) == 0
        }
        if count >= 4 {
            let last = count &- 4
            return difference(half(start), other.half(0)) == 0
                && difference(half(start &+ last), other.half(last)) == 0
        }
        for index in 0..<count {
            let byte = UInt64(uncheckedByte(start &+ index))
            guard difference(byte, UInt64(other.uncheckedByte(index))) == 0 else { return false }
        }
        return true
    }

    /// Eight bytes, which must lie within the span.
    @inline(__always)
    private func word(_ offset: Int) -> UInt64 {
        unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self)
    }

    /// Four bytes, which must lie within the span.
    @inline(__always)
    private func half(_ offset: Int) -> UInt64 {
        UInt64(unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt32.self))
    }

    /// Whether the bytes are those of another span.
    package func equals(_ other: RawSpan) -> Bool {
        guard byteCount == other.byteCount else { return false }
        var index = 0
        while index &+ 8 <= byteCount {
            let word = integer(index, as: UInt64.self)
            guard word == other.integer(index, as: UInt64.self) else { return false }
            index &+= 8
        }
        // The last eight, of which some have been looked at.
        if byteCount > 8 {
            let last = byteCount &- 8
            return integer(last, as: UInt64.self) == other.integer(last, as: UInt64.self)
        }
        while index < byteCount {
            guard byte(index) == other.byte(index) else { return false }
            index &+= 1
        }
        return true
    }

    /// The bytes as text for an error's detail: in quotes, at most 64 of them.
    package func excerpt() -> String {
        let byteCountMax = 64
        guard byteCount > byteCountMax else { return "\"\(text())\"" }
        return "\"\(extracting(first: byteCountMax).text())…\""
    }
}
