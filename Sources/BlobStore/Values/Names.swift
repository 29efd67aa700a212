/// The rules for what publishers call things.
enum Names {
    /// An id, a part name: UTF-8 without control characters and `/`.
    static func check(
        _ text: String, _ field: InvalidInput.Field, byteCountMax: Int
    ) throws(StoreError) {
        try checkText(text, field, byteCountMax: byteCountMax, allowsLineBreaks: false)
        guard !text.isEmpty else {
            throw refuse(field, "is empty; it has 1 to \(byteCountMax) bytes")
        }
        guard !text.utf8.contains(0x2F) else {
            throw refuse(field, "\"\(text)\" contains \"/\", which none may")
        }
    }

    /// A text: UTF-8 without control characters; a message may have tabs and line breaks.
    static func checkText(
        _ text: String, _ field: InvalidInput.Field, byteCountMax: Int, allowsLineBreaks: Bool
    ) throws(StoreError) {
        guard text.utf8.count <= byteCountMax else {
            throw refuse(field, "has \(text.utf8.count) bytes; the limit is \(byteCountMax)")
        }
        for scalar in text.unicodeScalars {
            let value = scalar.value
            let isControl = value < 0x20 || (value >= 0x7F && value <= 0x9F)
            guard isControl else { continue }
            if allowsLineBreaks && (value == 0x09 || value == 0x0A || value == 0x0D) { continue }
            throw refuse(field, "contains the control character U+\(hex(value)), which none may")
        }
    }

    /// A media type: `type/subtype` and parameters in visible ASCII and spaces (RFC 9110, section
    /// 8.3.1).
    static func checkMediaType(_ text: String) throws(StoreError) {
        guard text.utf8.count <= StoreLimits.mediaTypeByteCountMax else {
            throw refuse(
                .mediaType,
                "has \(text.utf8.count) bytes; the limit is \(StoreLimits.mediaTypeByteCountMax)")
        }
        // White space may stand before a parameter's semicolon, but not around the slash.
        var essence = text.utf8.prefix { $0 != 0x3B }
        while let last = essence.last, last == 0x20 || last == 0x09 { essence.removeLast() }
        let halves = essence.split(separator: 0x2F, omittingEmptySubsequences: false)
        let isVisible = text.utf8.allSatisfy { ($0 >= 0x20 && $0 < 0x7F) || $0 == 0x09 }
        guard isVisible, halves.count == 2, halves.allSatisfy({ isToken($0) }) else {
            throw refuse(.mediaType, "\"\(text)\" is not of the form type/subtype")
        }
    }

    private static func isToken(_ bytes: Substring.UTF8View) -> Bool {
        !bytes.isEmpty
            && bytes.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }

    private static func refuse(_ field: InvalidInput.Field, _ reason: String) -> StoreError {
        .invalid(InvalidInput(field: field, reason: reason))
    }

    private static func hex(_ value: UInt32) -> String {
        let digits = String(value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
