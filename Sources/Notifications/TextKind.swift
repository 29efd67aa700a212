internal import Bytes

/// What a text of a notification is for, and so the rule that it keeps to. The wire and the store ask
/// here: the wire refuses what the store would refuse, before a payload is sent, and in the same
/// words. All texts are UTF-8.
@usableFromInline
@frozen package enum TextKind: Sendable {
    /// Names: neither control characters (U+0000–001F, U+007F–009F) nor `/`.
    case id, part, app, category, device, actionIdentifier, responseAction, responseKey, platform
    /// Lines: no control characters.
    case owner, group, richType, title, actionTitle, targetHost
    /// Several lines: no control characters but tab, line feed and carriage return.
    case message
    /// Which device a push service delivers to: visible ASCII.
    case pushToken
    /// `type/subtype` and its parameters (RFC 9110, section 8.3.1), in ASCII.
    case mediaType

    /// The most bytes it may have.
    @inlinable
    @inline(__always)
    package var byteCountMax: Int {
        switch self {
        case .platform: 32
        case .part, .app, .category, .device, .actionIdentifier, .responseAction, .responseKey: 64
        case .group: 128
        case .id, .owner, .richType, .mediaType, .targetHost: 255
        case .title, .actionTitle: 256
        case .message, .pushToken: 4_096
        }
    }

    /// The field it is in, as a message names it.
    package var field: String {
        switch self {
        case .id: "id"
        case .part: "part name"
        case .app: "app"
        case .category: "category"
        case .device: "device"
        case .actionIdentifier, .actionTitle: "actions"
        case .responseAction: "response"
        case .responseKey: "response key"
        case .owner: "owner"
        case .group: "group"
        case .platform: "platform"
        case .targetHost: "target host"
        case .richType: "rich type"
        case .title: "title"
        case .message: "message"
        case .mediaType: "media type"
        case .pushToken: "token"
        }
    }

    /// What is wrong with a text; nil: nothing. One pass; allocates only to report a fault.
    ///
    /// - Parameter mayBeEmpty: whether a text without bytes is right.
    package func fault(in bytes: RawSpan, mayBeEmpty: Bool = false) -> TextFault? {
        guard mayBeEmpty || bytes.byteCount > 0 else { return TextFault("must not be empty") }
        guard bytes.byteCount <= byteCountMax else {
            return TextFault(
                "is \(bytes.byteCount) bytes long; the limit is \(byteCountMax)",
                limit: byteCountMax)
        }
        let words: String?
        switch self {
        case .owner, .group, .richType, .title, .actionTitle, .targetHost:
            words = UTF8Text.fault(in: bytes)
        case .message: words = UTF8Text.fault(in: bytes, allowingBreaks: true)
        case .pushToken:
            let visible = UInt8(0x21)...0x7E
            words = (0..<bytes.byteCount).first { !visible.contains(bytes.byte($0)) }.map {
                "must be visible ASCII (invalid at byte \($0))"
            }
        case .mediaType:
            words = MediaType.fault(in: bytes).map {
                "must have the form type/subtype, such as image/jpeg (invalid at byte \($0))"
            }
        case .id, .part, .app, .category, .device, .actionIdentifier, .responseAction,
            .responseKey, .platform:
            // Nearly all are plain and need no second look.
            if bytes.isPlainName { return nil }
            let slash = bytes.index(of: UInt8(ascii: "/"))
            words =
                UTF8Text.fault(in: bytes)
                ?? (slash < bytes.byteCount ? "must not contain / (byte \(slash))" : nil)
        }
        return words.map { TextFault($0) }
    }
}

/// What is wrong with a text, as the end of a sentence whose subject is the text.
package struct TextFault: Error {
    package let words: String
    /// The most bytes there may be, where there are more.
    package let limit: Int?

    fileprivate init(_ words: String, limit: Int? = nil) {
        self.words = words
        self.limit = limit
    }
}

/// What a page of notifications or changes may have, on the wire and from the store.
package enum PageLimits {
    /// Changes or records.
    package static var entryCountMax: Int { 1_000 }
}
