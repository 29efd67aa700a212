/// The value of `Accept` (RFC 9110, section 12.5.1), as far as it is heeded.
public enum MediaRanges {
    /// Whether a list names a media type itself, whatever its parameters and weight. Wildcards do
    /// not: whoever takes anything has not asked for this.
    ///
    /// - Parameter mediaType: in lower case.
    public static func names(_ mediaType: StaticString, in list: RawSpan) -> Bool {
        var elements = ListElements()
        while let element = elements.next(list) {
            if MediaType.isType(element.of(list), mediaType) { return true }
        }
        return false
    }
}

extension MediaType {
    /// Whether a media type is this one, whatever its parameters. Letters of either case count as
    /// equal (RFC 9110, section 8.3.1).
    ///
    /// - Parameter type: in lower case.
    public static func isType(_ bytes: RawSpan, _ type: StaticString) -> Bool {
        var end = 0
        while end < bytes.byteCount, bytes.byte(end) != UInt8(ascii: ";") { end += 1 }
        let name = Token.trimmed(bytes, Slice(0, upTo: end))
        return name.of(bytes).equalsIgnoringCase(type)
    }
}
