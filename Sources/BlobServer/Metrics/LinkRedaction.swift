import Bytes

/// What of a request's target a log may say. A signed link is a permission for whoever reads it, and so is one that a
/// client has mangled, whose query may be in the path.
enum LinkRedaction {
    /// All, or those of a link up to its query. A link begins with `/d/`, has `sig=` somewhere, or came by the device
    /// socket, in any coding, also where it was encoded several times.
    static func visibleByteCount(of target: RawSpan, isDevice: Bool) -> Int {
        var isLink = isDevice
        var visible: Int?
        // The first characters behind the slashes at the beginning, and the last four of all.
        var first: UInt32 = 0
        var last: UInt32 = 0
        var position = 0
        while position < target.byteCount {
            let start = position
            let character = next(of: target, &position)
            if visible == nil, isSeparator(character) { visible = start }
            last = last << 8 | UInt32(character | 0x20)
            // `sig=`; what is in lower case has the bit 0x20, and so has `=`.
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

    /// The character at `position`, decoded, which moves behind it.
    private static func next(of text: RawSpan, _ position: inout Int) -> UInt8 {
        let byte = text.byte(position)
        position += 1
        guard byte == UInt8(ascii: "%") else { return byte }
        var end = position
        // An encoded `%` before two more digits was encoded once more.
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
