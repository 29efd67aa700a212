import Bytes

/// Walks through a comma-separated list (RFC 9110, section 5.6.1) that has no quoted strings in it.
/// Empty elements are passed over, blanks cut off.
struct ListElements {
    private var index = 0

    /// The positions of the next element, or nil at the end.
    @inline(__always)
    mutating func next(_ text: RawSpan) -> Range<Int>? {
        while index < text.byteCount {
            var lower = index
            while lower < text.byteCount, Token.isBlank(text.byte(lower)) { lower &+= 1 }
            var upper = lower
            while upper < text.byteCount, text.byte(upper) != UInt8(ascii: ",") { upper &+= 1 }
            index = upper &+ 1
            while upper > lower, Token.isBlank(text.byte(upper &- 1)) { upper &-= 1 }
            if upper > lower { return lower..<upper }
        }
        return nil
    }
}
