import Bytes

/// How much of a request's target a log may show. Anyone who reads a signed link may use it, including one that a
/// client has mangled, so that its query is part of the path.
enum LinkRedaction {
    /// All bytes or, of a link, those before its query. A link begins with `/d/`, contains `sig=`, or came by the
    /// device socket, in any encoding, even if it was encoded several times.
    static func visibleByteCount(of target: RawSpan, isDevice: Bool) -> Int {
        var isLink = isDevice
        var visible: Int?
        // The first characters after the leading slashes, and the latest four.
        var first: UInt32 = 0
        var last: UInt32 = 0
        var position = 0
        while position < target.byteCount {
            let start = position
            let character = next(of: target, &position)
            if visible == nil, isSeparator(character) { visible = start }
            last = last << 8 | UInt32(character | 0x20)
            // `sig=`: lower-case letters contain the bit 0x20, and so does `=`.
            if last == 0x7369_673D { isLink = true }
            if first <= 0xFF, first != 0 || character != UInt8(ascii: "/") {
                first = first << 8 | UInt32(character | 0x20)
                // `d/`
                if first == 0x642F { isLink = true }
            }
        }
        return isLink ? visible ?? target.byteCount : target.byteCount
    }

    /// Whether a character ends the path of a link, or would if it were not encoded.
    private static func isSeparator(_ character: UInt8) -> Bool {
        switch character {
        case UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "&"), UInt8(ascii: ";"),
            UInt8(ascii: "="), UInt8(ascii: "\\"):
            true
        default: false
        }
    }

    /// The decoded character at `position`, which is moved past it.
    private static func next(of text: RawSpan, _ position: inout Int) -> UInt8 {
        let byte = text.byte(position)
        position += 1
        guard byte == UInt8(ascii: "%") else { return byte }
        var end = position
        // `%` encoded before two more digits: encoded once more.
        while end + 4 <= text.byteCount, text.byte(end) == UInt8(ascii: "2"),
            text.byte(end + 1) == UInt8(ascii: "5")
        {
            end += 2
        }
        guard end + 2 <= text.byteCount, let high = Hex.value(text.byte(end)),
            let low = Hex.value(text.byte(end + 1))
        else { return byte }
        position = end + 2
        return high << 4 | low
    }
}
