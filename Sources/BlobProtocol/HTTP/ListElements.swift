/// Walks through a comma-separated list (RFC 9110, section 5.6.1) that has no quoted strings in it.
/// Empty elements are passed over, blanks cut off.
struct ListElements {
    private var index = 0

    /// The next element, or nil at the end.
    mutating func next(_ text: RawSpan) -> Slice? {
        while index < text.byteCount {
            let start = index
            while index < text.byteCount, text.byte(index) != UInt8(ascii: ",") { index += 1 }
            let element = Token.trimmed(text, Slice(start, upTo: index))
            index += 1
            if !element.isEmpty { return element }
        }
        return nil
    }
}
