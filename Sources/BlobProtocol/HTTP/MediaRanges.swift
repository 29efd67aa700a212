import Bytes
import Notifications

/// The value of `Accept` (RFC 9110, section 12.5.1), as far as it is used.
public enum MediaRanges {
    /// Whether a list names a media type itself, whatever its parameters, with a weight other than
    /// 0. Wildcards do not count: they do not ask for this type. Elements whose weight is malformed
    /// are skipped. `mediaType` is in lower case.
    public static func names(_ mediaType: StaticString, in list: RawSpan) -> Bool {
        var elements = ListElements()
        while let element = elements.next(list) {
            let range = list.extracting(element)
            if MediaType.isType(range, mediaType), weight(of: range) > 0 { return true }
        }
        return false
    }

    /// The weight of a media range, in thousandths: that of its first parameter called `q`. 0 when it
    /// is malformed.
    private static func weight(of range: RawSpan) -> Int16 {
        var index = 0
        while index < range.byteCount {
            guard range.byte(index) == UInt8(ascii: ";") else {
                index += 1
                continue
            }
            var start = index + 1
            Token.skipBlanks(range, &start)
            if range.extracting(droppingFirst: start).hasPrefixIgnoringCase("q=") {
                var end = start
                while end < range.byteCount, range.byte(end) != UInt8(ascii: ";") { end += 1 }
                let weight = Token.trimmed(range, Slice(index, upTo: end)).of(range)
                return QualityValue.weight(weight) ?? 0
            }
            index += 1
        }
        return 1_000
    }
}
