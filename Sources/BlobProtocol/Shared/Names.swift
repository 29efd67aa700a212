/// The rules for the texts that name things, the same in both dialects. The checks read each byte
/// once and allocate only to report a fault.
public enum Names {
    /// Checks a notification id: 1…255 bytes of UTF-8, no control characters (U+0000–001F,
    /// U+007F–009F), no `/`. Throws `bad_id`.
    @inline(__always)
    public static func checkID(_ bytes: RawSpan) throws(ProtocolError) {
        if bytes.isPlainName, bytes.byteCount > 0, bytes.byteCount <= WireLimits.idByteCountMax {
            return
        }
        try checkName(bytes, "the id", .badID, byteCountMax: WireLimits.idByteCountMax)
    }

    /// Checks a part's name: 1…64 bytes, otherwise as an id. Throws `bad_part`.
    public static func checkPart(_ bytes: RawSpan) throws(ProtocolError) {
        try checkName(bytes, "the part name", .badPart, byteCountMax: WireLimits.partByteCountMax)
    }

    /// Checks a device: 1…64 bytes, otherwise as an id. Throws `bad_device`.
    public static func checkDevice(_ bytes: RawSpan) throws(ProtocolError) {
        try checkName(
            bytes, "the device", .badDevice, byteCountMax: WireLimits.deviceByteCountMax)
    }

    /// Checks an owner: 1…255 bytes of UTF-8 without control characters, and without a dot segment.
    /// Throws `bad_owner`.
    public static func checkOwner(_ bytes: RawSpan) throws(ProtocolError) {
        try checkText(
            bytes, "the owner", .badOwner, byteCountMax: WireLimits.ownerByteCountMax,
            refusing: .controls)
        try checkDotSegments(bytes, "the owner", .badOwner)
    }

    /// Checks a rich type: 1…255 bytes of UTF-8 without control characters. Throws `bad_rich_type`.
    public static func checkRichType(_ bytes: RawSpan) throws(ProtocolError) {
        try checkText(
            bytes, "the rich type", .badRichType, byteCountMax: WireLimits.richTypeByteCountMax,
            refusing: .controls)
    }

    /// Checks a category's name: 1…64 bytes, otherwise as an id. Throws `bad_category`.
    public static func checkCategory(_ bytes: RawSpan) throws(ProtocolError) {
        try checkName(
            bytes, "the category", .badCategory, byteCountMax: WireLimits.categoryByteCountMax)
    }

    /// Checks a group's name: 1…128 bytes, otherwise as an owner. Throws `bad_group`.
    public static func checkGroup(_ bytes: RawSpan) throws(ProtocolError) {
        try checkText(
            bytes, "the group", .badGroup, byteCountMax: WireLimits.groupByteCountMax,
            refusing: .controls)
    }

    /// Checks a message: 1…4,096 bytes of UTF-8 without U+0000. Throws `bad_message`.
    public static func checkMessage(_ bytes: RawSpan) throws(ProtocolError) {
        try checkText(
            bytes, "the message", .badMessage, byteCountMax: WireLimits.messageByteCountMax,
            refusing: .nul)
    }

    /// Checks a title: 1…256 bytes of UTF-8 without control characters. Throws `bad_title`.
    public static func checkTitle(_ bytes: RawSpan) throws(ProtocolError) {
        try checkText(
            bytes, "the title", .badTitle, byteCountMax: WireLimits.titleByteCountMax,
            refusing: .controls)
    }

    /// Checks the name of an app: 1…64 bytes, otherwise as an id. Throws `bad_app`.
    public static func checkApp(_ bytes: RawSpan) throws(ProtocolError) {
        try checkName(bytes, "the app", .badApp, byteCountMax: WireLimits.appByteCountMax)
    }

    private static func checkName(
        _ bytes: RawSpan, _ thing: String, _ code: ErrorCode, byteCountMax: Int
    ) throws(ProtocolError) {
        try checkText(bytes, thing, code, byteCountMax: byteCountMax, refusing: .controls)
        var index = 0
        while index < bytes.byteCount {
            if bytes.byte(index) == UInt8(ascii: "/") {
                throw ProtocolError(code, "\(thing) has a / at byte \(index)")
            }
            index &+= 1
        }
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
                    "\(thing) has the dot segment \(bytes.extracting(start..<end).text()) "
                        + "at byte \(start)")
            }
            start = end + 1
        }
    }

    private static func checkText(
        _ bytes: RawSpan, _ thing: String, _ code: ErrorCode, byteCountMax: Int,
        refusing refused: UTF8Text.Refused
    ) throws(ProtocolError) {
        guard bytes.byteCount > 0 else { throw ProtocolError(code, "\(thing) is empty") }
        guard bytes.byteCount <= byteCountMax else {
            throw ProtocolError(
                code, "\(thing) is \(bytes.byteCount) bytes long; the limit is \(byteCountMax)",
                limit: byteCountMax)
        }
        if let fault = UTF8Text.fault(in: bytes, refusing: refused) {
            throw ProtocolError(code, "\(thing) \(fault)")
        }
    }
}
