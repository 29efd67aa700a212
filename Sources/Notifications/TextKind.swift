internal import Bytes

/// The kind of a text of a notification, which determines its rule, on the wire and in the store.
@usableFromInline
@frozen package enum TextKind: Sendable, CaseIterable {
    case id, part, mediaType, owner, app, title, message, richType, category, group, targetHost
    case device, platform, actionIdentifier, actionTitle, responseAction, responseKey, pushToken

    /// The allowed bytes.
    @usableFromInline
    @frozen enum Rule: Sendable {
        /// A name: no control characters (U+0000–001F, U+007F–009F) and no `/`.
        case name
        /// A line: no control characters.
        case line
        /// Several lines: no control characters except tab, line feed and carriage return.
        case lines
        /// `type/subtype` and its parameters (RFC 9110, section 8.3.1), in ASCII.
        case mediaType
        /// Visible ASCII.
        case visible
    }

    /// The table of kinds. Callers know their row at compile time, so a lookup costs nothing.
    @inlinable
    @inline(__always)
    var row: Row {
        switch self {
        case .id: Row("id", 255, .name)
        case .part: Row("part name", 64, .name)
        case .mediaType: Row("media type", 255, .mediaType)
        case .owner: Row("owner", 255, .line)
        case .app: Row("app", 64, .name)
        case .title: Row("title", 256, .line, mayBeEmpty: true)
        case .message: Row("message", 4_096, .lines, mayBeEmpty: true)
        case .richType: Row("rich type", 255, .line, mayBeEmpty: true)
        case .category: Row("category", 64, .name)
        case .group: Row("group", 128, .line)
        case .targetHost: Row("target host", 255, .line)
        case .device: Row("device", 64, .name)
        case .platform: Row("platform", 32, .name)
        case .actionIdentifier: Row("actions", 64, .name)
        case .actionTitle: Row("actions", 256, .line, mayBeEmpty: true)
        case .responseAction: Row("response", 64, .name)
        case .responseKey: Row("response key", 64, .name)
        case .pushToken: Row("token", 4_096, .visible)
        }
    }

    @usableFromInline
    @frozen struct Row {
        @usableFromInline let field: StaticString
        @usableFromInline let byteCountMax: Int
        @usableFromInline let rule: Rule
        @usableFromInline let mayBeEmpty: Bool

        @inlinable
        @inline(__always)
        init(
            _ field: StaticString, _ byteCountMax: Int, _ rule: Rule, mayBeEmpty: Bool = false
        ) {
            self.field = field
            self.byteCountMax = byteCountMax
            self.rule = rule
            self.mayBeEmpty = mayBeEmpty
        }
    }

    @inlinable
    @inline(__always)
    package var byteCountMax: Int { row.byteCountMax }

    package var field: String { row.field.description }

    /// Whether a stored text may be empty. On the wire, an empty text is absent or an error.
    package var mayBeEmpty: Bool { row.mayBeEmpty }

    /// One pass. Allocates only to report a fault.
    package func fault(in bytes: RawSpan, mayBeEmpty: Bool = false) -> TextFault? {
        guard mayBeEmpty || bytes.byteCount > 0 else { return TextFault("must not be empty") }
        guard bytes.byteCount <= byteCountMax else {
            return TextFault(
                "is \(bytes.byteCount) bytes long; the limit is \(byteCountMax)",
                limit: byteCountMax)
        }
        let words: String?
        switch row.rule {
        case .line: words = UTF8Text.fault(in: bytes)
        case .lines: words = UTF8Text.fault(in: bytes, allowingBreaks: true)
        case .visible:
            let visible = UInt8(0x21)...0x7E
            words = (0..<bytes.byteCount).first { !visible.contains(bytes.byte($0)) }.map {
                "must be visible ASCII (invalid at byte \($0))"
            }
        case .mediaType:
            words = MediaType.fault(in: bytes).map {
                "must have the form type/subtype, such as image/jpeg (invalid at byte \($0))"
            }
        case .name:
            // Nearly all names are plain and need no closer look.
            if bytes.isPlainName { return nil }
            let slash = bytes.index(of: UInt8(ascii: "/"))
            words =
                UTF8Text.fault(in: bytes)
                ?? (slash < bytes.byteCount ? "must not contain / (byte \(slash))" : nil)
        }
        return words.map { TextFault($0) }
    }
}

/// The texts of a notification's record, all in one list (*How to add a text field* in `docs/ARCHITECTURE.md`). Each
/// raw value is a permanent tag on disk (`docs/FORMAT.md`).
package enum TextField: UInt16, Sendable, CaseIterable {
    case owner = 1
    case app = 13
    case title = 12
    case message = 2
    case richType = 3
    case category = 4
    case group = 5
    case targetHost = 15
    case device = 9

    /// Which requests set the text.
    enum Origin: Sendable {
        /// A publish; a patch cannot change it.
        case publish
        /// A publish, or a patch.
        case publishOrPatch
        /// The request's head; it is not in documents.
        case head
    }

    private var row: (member: StaticString, kind: TextKind, origin: Origin) {
        switch self {
        case .owner: ("owner", .owner, .publish)
        case .app: ("app", .app, .publish)
        case .title: ("title", .title, .publishOrPatch)
        case .message: ("message", .message, .publishOrPatch)
        case .richType: ("rich_type", .richType, .publishOrPatch)
        case .category: ("category", .category, .publishOrPatch)
        case .group: ("group", .group, .publishOrPatch)
        case .targetHost: ("target_host", .targetHost, .publishOrPatch)
        case .device: ("device", .device, .head)
        }
    }

    package var member: StaticString { row.member }

    package var kind: TextKind { row.kind }

    /// The fields that the document of a publish may contain.
    package static let published = allCases.filter { $0.row.origin != .head }

    /// The fields that a patch may change.
    package static let patched = allCases.filter { $0.row.origin == .publishOrPatch }

    /// Whether the store checks it, with the change. What a notification belongs to need not be a name that a path may
    /// contain.
    package var isLeftToTheStore: Bool {
        switch self {
        case .category, .group, .targetHost: true
        default: false
        }
    }
}

/// What is wrong with a text, as the end of a sentence whose subject is the text.
package struct TextFault: Error {
    package let words: String
    /// The maximum number of bytes, if it was exceeded.
    package let limit: Int?

    fileprivate init(_ words: String, limit: Int? = nil) {
        self.words = words
        self.limit = limit
    }
}

/// The limits of a page of notifications or changes, on the wire and in the store.
package enum PageLimits {
    /// Changes or records.
    package static var entryCountMax: Int { 1_000 }
}
