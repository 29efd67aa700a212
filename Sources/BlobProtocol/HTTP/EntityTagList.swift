import Bytes

/// Walks through a list of entity tags (RFC 9110, section 8.8.3), in which a comma between quotes is
/// a character like any other. Empty elements are passed over.
struct EntityTagList {
    /// What comes next.
    enum Element {
        /// A tag with its quotes, and whether `W/` stands before it.
        case tag(Slice, isWeak: Bool)
        case end
        /// Anything else than a list of tags.
        case malformed
    }

    private var index = 0
    private var needsComma = false

    /// The next element of the list.
    mutating func next(_ text: RawSpan) -> Element {
        while true {
            Token.skipBlanks(text, &index)
            guard index < text.byteCount else { return .end }
            guard text.byte(index) == UInt8(ascii: ",") else { break }
            needsComma = false
            index += 1
        }
        guard !needsComma else { return .malformed }
        var isWeak = false
        // `W/` is case-sensitive.
        if text.byte(index) == UInt8(ascii: "W") {
            guard index + 1 < text.byteCount, text.byte(index + 1) == UInt8(ascii: "/") else {
                return .malformed
            }
            isWeak = true
            index += 2
        }
        let start = index
        guard Self.skipOpaqueTag(text, &index) else { return .malformed }
        needsComma = true
        return .tag(Slice(start, upTo: index), isWeak: isWeak)
    }

    /// Moves past `DQUOTE *etagc DQUOTE`.
    private static func skipOpaqueTag(_ text: RawSpan, _ index: inout Int) -> Bool {
        guard index < text.byteCount, text.byte(index) == UInt8(ascii: "\"") else { return false }
        index = text.entityTagEnd(from: index + 1)
        guard index < text.byteCount, text.byte(index) == UInt8(ascii: "\"") else { return false }
        index += 1
        return true
    }
}
