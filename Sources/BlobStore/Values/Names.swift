internal import Bytes
internal import Notifications

/// The rules for what publishers call things.
enum Names {
    /// An id, a part name: UTF-8 without control characters and `/`.
    static func check(
        _ text: String, _ field: InvalidInput.Field, byteCountMax: Int
    ) throws(StoreError) {
        try check(text, .name, field, byteCountMax: byteCountMax)
    }

    /// A text: UTF-8 without control characters; a message may have tabs and line breaks.
    static func checkText(
        _ text: String, _ field: InvalidInput.Field, byteCountMax: Int, allowsLineBreaks: Bool,
        mayBeEmpty: Bool = true
    ) throws(StoreError) {
        try check(
            text, allowsLineBreaks ? .lines : .line, field, byteCountMax: byteCountMax,
            mayBeEmpty: mayBeEmpty)
    }

    private static func check(
        _ text: String, _ rule: TextRules.Rule, _ field: InvalidInput.Field, byteCountMax: Int,
        mayBeEmpty: Bool = false
    ) throws(StoreError) {
        let fault = TextRules.fault(
            in: text.utf8.span.bytes, rule, byteCountMax: byteCountMax, mayBeEmpty: mayBeEmpty)
        guard let fault else { return }
        throw .invalid(InvalidInput(field: field, reason: fault.words, limit: fault.limit))
    }

    /// A media type: `type/subtype` and parameters in visible ASCII and spaces (RFC 9110, section
    /// 8.3.1).
    static func checkMediaType(_ text: String) throws(StoreError) {
        let bytes = text.utf8.span
        guard bytes.count <= StoreLimits.mediaTypeByteCountMax else {
            throw refuse(
                .mediaType,
                "is \(bytes.count) bytes long; the limit is \(StoreLimits.mediaTypeByteCountMax)")
        }
        let essence = MediaType.essence(bytes.bytes)
        var slash: Int?
        var isRight = true
        for index in 0..<essence.byteCount {
            let byte = essence.byte(index)
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
            throw refuse(.mediaType, "\"\(text)\" must have the form type/subtype")
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

    private static func refuse(_ field: InvalidInput.Field, _ reason: String) -> StoreError {
        .invalid(InvalidInput(field: field, reason: reason))
    }
}

/// What the bytes of a media type say.
enum MediaType {
    /// `type/subtype`, without parameters and the white space that may stand before their
    /// semicolon.
    @_lifetime(copy text)
    static func essence(_ text: RawSpan) -> RawSpan {
        var count = text.index(of: 0x3B)
        while count > 0, text.byte(count - 1) == 0x20 || text.byte(count - 1) == 0x09 {
            count -= 1
        }
        return text.extracting(first: count)
    }
}
