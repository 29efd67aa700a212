import Bytes
import Notifications

/// The rules for the texts that name things, the same in both dialects and in the store. The checks
/// read each byte once and allocate only to report a fault.
public enum Names {
    /// Checks a notification id: 1…255 bytes of UTF-8, no control characters (U+0000–001F,
    /// U+007F–009F), no `/`. Throws `bad_id`.
    @inline(__always)
    public static func checkID(_ bytes: RawSpan) throws(ProtocolError) {
        if bytes.isPlainName, bytes.byteCount > 0, bytes.byteCount <= WireLimits.idByteCountMax {
            return
        }
        try check(bytes, .name, "the id", .badID, byteCountMax: WireLimits.idByteCountMax)
    }

    /// Checks a part's name: 1…64 bytes, otherwise as an id. Throws `bad_part`.
    public static func checkPart(_ bytes: RawSpan) throws(ProtocolError) {
        try check(
            bytes, .name, "the part name", .badPart, byteCountMax: WireLimits.partByteCountMax)
    }

    /// Checks a device: 1…64 bytes, otherwise as an id. Throws `bad_device`.
    public static func checkDevice(_ bytes: RawSpan) throws(ProtocolError) {
        try check(
            bytes, .name, "the device", .badDevice, byteCountMax: WireLimits.deviceByteCountMax)
    }

    /// Checks an owner: 1…255 bytes of UTF-8 without control characters, and without a dot segment.
    /// Throws `bad_owner`.
    public static func checkOwner(_ bytes: RawSpan) throws(ProtocolError) {
        try check(bytes, .line, "the owner", .badOwner, byteCountMax: WireLimits.ownerByteCountMax)
        try checkDotSegments(bytes, "the owner", .badOwner)
    }

    /// Checks a rich type: 1…255 bytes of UTF-8 without control characters. Throws `bad_rich_type`.
    public static func checkRichType(_ bytes: RawSpan) throws(ProtocolError) {
        try check(
            bytes, .line, "the rich type", .badRichType,
            byteCountMax: WireLimits.richTypeByteCountMax)
    }

    /// Checks a category's name: 1…64 bytes, otherwise as an id. Throws `bad_category`.
    public static func checkCategory(_ bytes: RawSpan) throws(ProtocolError) {
        try check(
            bytes, .name, "the category", .badCategory,
            byteCountMax: WireLimits.categoryByteCountMax)
    }

    /// Checks a group's name: 1…128 bytes, otherwise as an owner. Throws `bad_group`.
    public static func checkGroup(_ bytes: RawSpan) throws(ProtocolError) {
        try check(bytes, .line, "the group", .badGroup, byteCountMax: WireLimits.groupByteCountMax)
    }

    /// Checks a message: 1…4,096 bytes of UTF-8 without control characters but tabs and line breaks
    /// (U+0009, U+000A, U+000D). Throws `bad_message`.
    public static func checkMessage(_ bytes: RawSpan) throws(ProtocolError) {
        try check(
            bytes, .lines, "the message", .badMessage, byteCountMax: WireLimits.messageByteCountMax)
    }

    /// Checks a title: 1…256 bytes of UTF-8 without control characters. Throws `bad_title`.
    public static func checkTitle(_ bytes: RawSpan) throws(ProtocolError) {
        try check(bytes, .line, "the title", .badTitle, byteCountMax: WireLimits.titleByteCountMax)
    }

    /// Checks the name of an app: 1…64 bytes, otherwise as an id. Throws `bad_app`.
    public static func checkApp(_ bytes: RawSpan) throws(ProtocolError) {
        try check(bytes, .name, "the app", .badApp, byteCountMax: WireLimits.appByteCountMax)
    }

    /// Checks a name that was decoded from a path: it must not be `.` or `..`, or have one of them
    /// between slashes. Programs on the way here take such dot segments out of paths (RFC 3986,
    /// section 5.2.4), some of them after decoding. Throws an error of `code`.
    public static func checkDotSegments(
        _ bytes: RawSpan, _ thing: String, _ code: ErrorCode
    ) throws(ProtocolError) {
        var start = 0
        while start <= bytes.byteCount {
            let end = bytes.index(of: UInt8(ascii: "/"), from: start)
            guard !bytes.extracting(start..<end).isDotSegment else {
                throw ProtocolError(
                    code,
                    "\(thing) must not contain the dot segment \(bytes.extracting(start..<end).text()) "
                        + "(byte \(start))")
            }
            start = end + 1
        }
    }

    private static func check(
        _ bytes: RawSpan, _ rule: TextRules.Rule, _ thing: StaticString, _ code: ErrorCode,
        byteCountMax: Int
    ) throws(ProtocolError) {
        guard let fault = TextRules.fault(in: bytes, rule, byteCountMax: byteCountMax) else {
            return
        }
        throw ProtocolError(code, "\(thing) \(fault.words)", limit: fault.limit)
    }
}
