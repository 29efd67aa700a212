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
        var index = 0
        var needsComma = false
        while true {
            Token.skipBlanks(text, &index)
            guard index < text.byteCount else { return isMatch }
            if text.byte(index) == UInt8(ascii: ",") {
                needsComma = false
                index += 1
                continue
            }
            guard !needsComma else { return false }
            var isWeak = false
            // `W/` is case-sensitive.
            if text.byte(index) == UInt8(ascii: "W") {
                guard index + 1 < text.byteCount, text.byte(index + 1) == UInt8(ascii: "/") else {
                    return false
                }
                isWeak = true
                index += 2
            }
            let start = index
            guard skipOpaqueTag(text, &index) else { return false }
            if weakly || !isWeak, text.extracting(start..<index).equals(tag) { isMatch = true }
            needsComma = true
        }
    }

    /// Moves past `DQUOTE *etagc DQUOTE`, in which a comma is a character like any other.
    private static func skipOpaqueTag(_ text: RawSpan, _ index: inout Int) -> Bool {
        guard index < text.byteCount, text.byte(index) == UInt8(ascii: "\"") else { return false }
        index += 1
        while index < text.byteCount {
            let byte = text.byte(index)
            index += 1
            if byte == UInt8(ascii: "\"") { return true }
            guard byte > 0x20, byte != 0x7F else { return false }
        }
        return false
    }
}
