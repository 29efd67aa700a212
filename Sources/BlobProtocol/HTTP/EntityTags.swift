import Bytes

/// Comparison of entity tags (RFC 9110, section 8.8.3). `tag` is always the current one, strong and in quotes.
public enum EntityTags {
    /// How tags are compared (RFC 9110, section 8.8.3.2).
    public enum Comparison: Sendable {
        /// Weak tags match nothing: `If-Match`.
        case strong
        /// Weak tags match like strong ones: `If-None-Match`.
        case weak
    }

    /// All lines form one list. If it is malformed anywhere, it matches nothing.
    public static func match(
        _ lines: FieldLines, in bytes: RawSpan, tag: RawSpan, _ comparison: Comparison
    ) -> Bool {
        for index in 0..<lines.count where match(lines[index].of(bytes), tag: tag, comparison) {
            return true
        }
        return false
    }

    /// Whether a field's value contains the tag.
    public static func match(
        _ value: RawSpan, tag: RawSpan, _ comparison: Comparison
    ) -> Bool {
        if value.equals("*") { return true }
        var isMatch = false
        var list = EntityTagList()
        while true {
            switch list.next(value) {
            case .tag(let named, let isWeak):
                if comparison == .weak || !isWeak, named.of(value).equals(tag) { isMatch = true }
            case .end: return isMatch
            case .malformed: return false
            }
        }
    }
}

/// Iterates over a list of entity tags, in which a comma between quotes has no special meaning.
package struct EntityTagList {
    package enum Element {
        /// A tag with its quotes, and whether it is preceded by `W/`.
        case tag(Slice, isWeak: Bool)
        case end
        /// Anything other than a list of tags.
        case malformed
    }

    private var index = 0
    private var needsComma = false

    package init() {}

    package mutating func next(_ text: RawSpan) -> Element {
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

/// Entity tags of notifications: the revision in quotes. Tags of payloads begin with `sha256:`.
package enum RevisionTags {
    package static func append(_ revision: UInt64, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        Decimal.append(revision, to: &out)
        out.append(UInt8(ascii: "\""))
    }
}
