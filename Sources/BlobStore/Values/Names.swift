/// The rules for what publishers call things.
///
/// They look at bytes: every publish is checked, and walking a text scalar by scalar costs more
/// than storing it.
enum Names {
    /// An id, a part name: UTF-8 without control characters and `/`.
    static func check(
        _ text: String, _ field: InvalidInput.Field, byteCountMax: Int
    ) throws(StoreError) {
        try checkText(text, field, byteCountMax: byteCountMax, allowsLineBreaks: false)
        guard !text.isEmpty else {
            throw refuse(field, "is empty; it has 1 to \(byteCountMax) bytes")
        }
        guard text.utf8.span.bytes.firstIndex(of: 0x2F) == nil else {
            throw refuse(field, "\"\(text)\" contains \"/\", which none may")
        }
    }

    /// A text: UTF-8 without control characters; a message may have tabs and line breaks.
    static func checkText(
        _ text: String, _ field: InvalidInput.Field, byteCountMax: Int, allowsLineBreaks: Bool
    ) throws(StoreError) {
        let bytes = text.utf8.span
        guard bytes.count <= byteCountMax else {
            throw refuse(field, "has \(bytes.count) bytes; the limit is \(byteCountMax)")
        }
        for index in plainByteCount(bytes.bytes)..<bytes.count {
            let byte = bytes[index]
            if byte >= 0x20 && byte != 0x7F {
                // U+0080 to U+009F are C2 80 to C2 9F; a text's UTF-8 is always whole.
                guard byte == 0xC2, bytes[index + 1] < 0xA0 else { continue }
                throw refuseControl(field, bytes[index + 1])
            }
            if allowsLineBreaks && (byte == 0x09 || byte == 0x0A || byte == 0x0D) { continue }
            throw refuseControl(field, byte)
        }
    }

    /// How many bytes at the start are surely allowed: whole words of which no byte is below 0x20,
    /// DEL or C2, with which control characters begin that have two bytes.
    private static func plainByteCount(_ bytes: RawSpan) -> Int {
        var count = 0
        while bytes.byteCount - count >= 8 {
            let word = ByteWord(bytes.word(at: count))
            guard !word.hasByte(below: 0x20), !word.contains(0x7F), !word.contains(0xC2) else {
                return count
            }
            count += 8
        }
        return count
    }

    /// A media type: `type/subtype` and parameters in visible ASCII and spaces (RFC 9110, section
    /// 8.3.1).
    static func checkMediaType(_ text: String) throws(StoreError) {
        let bytes = text.utf8.span
        guard bytes.count <= StoreLimits.mediaTypeByteCountMax else {
            throw refuse(
                .mediaType,
                "has \(bytes.count) bytes; the limit is \(StoreLimits.mediaTypeByteCountMax)")
        }
        let essence = MediaType.essence(bytes.bytes)
        var slash: Int?
        var isRight = true
        for index in 0..<essence.byteCount {
            let byte = essence.byte(at: index)
            if byte == 0x2F, slash == nil {
                slash = index
            } else if !isToken(byte) {
                isRight = false
            }
        }
        for index in essence.byteCount..<bytes.count {
            let byte = bytes[index]
            if !(byte >= 0x20 && byte < 0x7F) && byte != 0x09 { isRight = false }
        }
        guard isRight, let slash, slash > 0, slash < essence.byteCount - 1 else {
            throw refuse(.mediaType, "\"\(text)\" is not of the form type/subtype")
        }
    }

    /// Whether a token may have it (RFC 9110, section 5.6.2).
    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        // ! # $ % & ' * + - . ^ _ ` | ~
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E: true
        default: false
        }
    }

    private static func refuseControl(_ field: InvalidInput.Field, _ value: UInt8) -> StoreError {
        refuse(field, "contains the control character U+\(hex(value)), which none may")
    }

    private static func refuse(_ field: InvalidInput.Field, _ reason: String) -> StoreError {
        .invalid(InvalidInput(field: field, reason: reason))
    }

    private static func hex(_ value: UInt8) -> String {
        let digits = String(value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}

/// What the bytes of a media type say.
enum MediaType {
    /// `type/subtype`, without parameters and the white space that may stand before their
    /// semicolon.
    @_lifetime(copy text)
    static func essence(_ text: RawSpan) -> RawSpan {
        var count = text.firstIndex(of: 0x3B) ?? text.byteCount
        while count > 0, text.byte(at: count - 1) == 0x20 || text.byte(at: count - 1) == 0x09 {
            count -= 1
        }
        return text.extracting(first: count)
    }
}
