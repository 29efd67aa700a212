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
