/// Percent-encoding (RFC 3986, section 2.1).
package enum PercentCoding {
    /// Whether decoding would change nothing, so that the bytes can be used in place.
    package static func isPlain(_ text: RawSpan, plusIsSpace: Bool = false) -> Bool {
        plainByteCount(text, plusIsSpace) == text.byteCount
    }

    /// The number of bytes before the first that is encoded.
    private static func plainByteCount(_ text: RawSpan, _ plusIsSpace: Bool) -> Int {
        let plain = text.index(of: UInt8(ascii: "%"))
        return plusIsSpace ? min(plain, text.index(of: UInt8(ascii: "+"))) : plain
    }

    /// Appends the decoded bytes, at most as many as `text` has.
    ///
    /// - Returns: the position of a `%` without two hexadecimal digits after it; `out` then contains the bytes before
    ///   it.
    package static func decode(
        _ text: RawSpan, plusIsSpace: Bool, into out: inout [UInt8]
    ) -> Int? {
        // Usually all of it.
        var index = plainByteCount(text, plusIsSpace)
        out.append(contentsOf: text.extracting(first: index))
        while index < text.byteCount {
            let byte = text.byte(index)
            index += 1
            if byte == UInt8(ascii: "%") {
                guard index + 2 <= text.byteCount, let high = Hex.value(text.byte(index)),
                    let low = Hex.value(text.byte(index + 1))
                else { return index - 1 }
                out.append(high << 4 | low)
                index += 2
            } else if plusIsSpace, byte == UInt8(ascii: "+") {
                out.append(0x20)
            } else {
                out.append(byte)
            }
        }
        return nil
    }

    /// Appends `bytes` for use as one segment of a path or as a value in a query: everything except RFC 3986's
    /// unreserved characters is encoded.
    package static func encode(_ bytes: RawSpan, into out: inout [UInt8]) {
        for index in 0..<bytes.byteCount {
            let byte = bytes.byte(index)
            if isUnreserved(byte) {
                out.append(byte)
            } else {
                out.append(UInt8(ascii: "%"))
                out.append(upper(byte >> 4))
                out.append(upper(byte & 0xF))
            }
        }
    }

    /// Whether a byte needs no encoding anywhere in a URI (RFC 3986, section 2.3).
    package static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    private static func upper(_ value: UInt8) -> UInt8 {
        value < 10 ? value + 0x30 : value + 0x37
    }
}
