import Bytes

/// Comparing entity tags (RFC 9110, section 8.8.3). `tag` is always the current one of what is
/// asked for, strong and with its quotes.
public enum EntityTags {
    /// `If-None-Match`: whether one of the tags in the field's value is the same by weak
    /// comparison, or the value is `*`. False when the value is malformed anywhere.
    public static func matchesWeakly(_ fieldValue: RawSpan, tag: RawSpan) -> Bool {
        matches(fieldValue, tag: tag, weakly: true)
    }

    /// `If-Match`: whether one of the tags in the field's value is the same by strong comparison,
    /// or the value is `*`. False when the value is malformed anywhere.
    public static func matchesStrongly(_ fieldValue: RawSpan, tag: RawSpan) -> Bool {
        matches(fieldValue, tag: tag, weakly: false)
    }

    /// `If-Range` (RFC 9110, section 13.1.5): whether its value is the very tag. A weak tag never
    /// is, and neither is a date, since nothing here has a modification time.
    public static func matchesIfRange(_ fieldValue: RawSpan, tag: RawSpan) -> Bool {
        fieldValue.equals(tag)
    }

    /// The same over the lines of a field, which together are one list.
    public static func matchesWeakly(_ lines: FieldLines, in bytes: RawSpan, tag: RawSpan) -> Bool {
        for index in 0..<lines.count where matchesWeakly(lines[index].of(bytes), tag: tag) {
            return true
        }
        return false
    }

    /// The same over the lines of a field, which together are one list.
    public static func matchesStrongly(
        _ lines: FieldLines, in bytes: RawSpan, tag: RawSpan
    ) -> Bool {
        for index in 0..<lines.count where matchesStrongly(lines[index].of(bytes), tag: tag) {
            return true
        }
        return false
    }

    private static func matches(_ text: RawSpan, tag: RawSpan, weakly: Bool) -> Bool {
        if text.equals("*") { return true }
        var isMatch = false
        var list = EntityTagList()
        while true {
            switch list.next(text) {
            case .tag(let named, let isWeak):
                if weakly || !isWeak, named.of(text).equals(tag) { isMatch = true }
            case .end: return isMatch
            case .malformed: return false
            }
        }
    }
}

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

/// Entity tags of notifications: the revision in quotes, `"1234"`. They are strong, and differ from
/// those of payloads, which begin with `sha256:`.
public enum RevisionTags {
    /// Appends the tag.
    public static func append(_ revision: UInt64, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        Decimal.append(revision, to: &out)
        out.append(UInt8(ascii: "\""))
    }
}
