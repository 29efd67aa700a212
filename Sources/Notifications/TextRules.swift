import Bytes

/// The rules for the texts of a notification. The wire and the store ask here, so that the wire
/// refuses what the store would refuse, before a payload is sent, and in the same words.
package enum TextRules {
    /// Which characters a text may have. All are UTF-8.
    package enum Rule: Sendable {
        /// Neither control characters (U+0000–001F, U+007F–009F) nor `/`: ids and other names.
        case name
        /// No control characters: a line.
        case line
        /// No control characters but tab, line feed and carriage return: several lines.
        case lines
    }

    /// What is wrong with a text; nil: nothing. One pass; allocates only to report a fault.
    ///
    /// - Parameter mayBeEmpty: whether a text without bytes is right.
    package static func fault(
        in bytes: RawSpan, _ rule: Rule, byteCountMax: Int, mayBeEmpty: Bool = false
    ) -> TextFault? {
        guard mayBeEmpty || bytes.byteCount > 0 else { return TextFault("must not be empty") }
        guard bytes.byteCount <= byteCountMax else {
            return TextFault(
                "is \(bytes.byteCount) bytes long; the limit is \(byteCountMax)",
                limit: byteCountMax)
        }
        if let fault = UTF8Text.fault(in: bytes, allowingBreaks: rule == .lines) {
            return TextFault(fault)
        }
        guard rule == .name else { return nil }
        for index in 0..<bytes.byteCount
        where bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self) == UInt8(ascii: "/") {
            return TextFault("must not contain / (byte \(index))")
        }
        return nil
    }
}

/// What is wrong with a text, as the end of a sentence whose subject is the text.
package struct TextFault: Sendable {
    package let words: String
    /// The most bytes there may be, where there are more.
    package let limit: Int?

    fileprivate init(_ words: String, limit: Int? = nil) {
        self.words = words
        self.limit = limit
    }
}
