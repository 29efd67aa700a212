// Comparing spans with literals, without making a `String`.

extension RawSpan {
    /// Whether the bytes are those of the literal.
    @inline(__always)
    package func equals(_ literal: StaticString) -> Bool {
        guard byteCount == literal.utf8CodeUnitCount else { return false }
        // The literal's bytes are there for ever.
        return literal.withUTF8Buffer { equals(RawSpan(_unsafeElements: $0)) }
    }

    /// Whether the bytes are those of the literal when ASCII letters of either case count as equal.
    /// The literal must be in lower case.
    @inline(__always)
    package func equalsIgnoringCase(_ lowercased: StaticString) -> Bool {
        byteCount == lowercased.utf8CodeUnitCount && hasPrefixIgnoringCase(lowercased)
    }

    /// Whether the bytes begin with those of the literal, letters of either case counting as equal.
    /// The literal must be in lower case.
    @inline(__always)
    package func hasPrefixIgnoringCase(_ lowercased: StaticString) -> Bool {
        guard byteCount >= lowercased.utf8CodeUnitCount else { return false }
        return lowercased.withUTF8Buffer { other in
            for index in 0..<other.count {
                let byte = self.byte(index)
                let isUpper = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
                if (isUpper ? byte | 0x20 : byte) != other[index] { return false }
            }
            return true
        }
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
