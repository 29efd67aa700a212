internal import Bytes
internal import Hashing
public import Notifications

/// What became of a notification, or of a category that one of the owner's names: its latest change.
public struct FeedChange: Sendable {
    /// What kind of change it was.
    public typealias Kind = ChangeKind

    /// What became of it.
    public var kind: Kind
    /// The notification's id, or the category's name.
    public var id: String
    /// The number of the change.
    public var revision: UInt64
    /// The device that made it, if it said so.
    public var device: String?
    /// A copy of the record; nil when it is gone, or left.
    public var record: Record?
    /// Of the kind `category`: the category as it is now; nil when it is gone.
    public var category: Category?
    /// Of the kind `category`: the app whose notifications it is for; nil: all.
    public var app: String?
    /// The cursor behind it.
    public var cursor: FeedCursor
}

/// A stretch of a feed, in the order of the commits, each notification once.
public struct FeedPage: Sendable {
    /// At most as many as were asked for.
    public var changes: [FeedChange]
    /// Where to go on.
    public var next: FeedCursor
    /// Whether there is more behind it now. A page may be empty and have more.
    public var hasMore: Bool
    /// The store's revision in the snapshot it is from: what to wait behind.
    public var revision: UInt64
}

/// A position in an owner's feed. It belongs to one owner of one store.
public struct FeedCursor: Sendable, Hashable {
    /// The revision up to which everything has been read.
    public let position: UInt64
    /// What was gone at this revision was never read; 0, or more than the position.
    public let base: UInt64

    /// Bytes of its text.
    public static let textByteCount = CursorText.characterCount

    private static let label = "blobd feed 1"

    /// The base is dropped where it says nothing more.
    init(position: UInt64, base: UInt64) {
        self.position = position
        self.base = base > position ? base : 0
    }

    /// Reads a text; nil when it is none, or belongs to another owner or store. One SHA-256.
    public init?(_ text: RawSpan, owner: RawSpan, store: StoreID) {
        guard
            let (position, base) = CursorText.read(
                text, label: Self.label, owner: owner, store: store)
        else { return nil }
        self.init(position: position, base: base)
    }

    /// Appends the text: 32 characters of base64url. One SHA-256.
    public func append(owner: RawSpan, store: StoreID, to out: inout [UInt8]) {
        CursorText.append(
            position, base, label: Self.label, owner: owner, store: store, to: &out)
    }
}

/// Where to begin reading a feed.
public enum FeedStart: Sendable, Hashable {
    /// With everything there is.
    case beginning
    /// Behind everything there is.
    case latest
    /// Behind what was read.
    case after(FeedCursor)
}

/// The text of a cursor in a feed or a history: two numbers and a tag over them, the owner and the
/// store, as 32 characters of base64url (RFC 4648, section 5).
///
/// The tag finds mistakes, such as another owner's cursor. It is not a secret.
enum CursorText {
    static let characterCount = 32
    private static let byteCount = 24

    /// Appends the text. One SHA-256. `label`: what kind of cursor it is.
    static func append(
        _ first: UInt64, _ second: UInt64, label: String, owner: RawSpan, store: StoreID,
        to out: inout [UInt8]
    ) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(byteCount)
        bytes.append(bigEndian: first)
        bytes.append(bigEndian: second)
        bytes.append(bigEndian: tag(first, second, label, owner, store))
        Base64.appendURL(bytes.span.bytes, to: &out)
    }

    /// The two numbers; nil when `text` is none, or belongs to another owner, another store or
    /// another kind of cursor.
    static func read(
        _ text: RawSpan, label: String, owner: RawSpan, store: StoreID
    ) -> (UInt64, UInt64)? {
        guard text.byteCount == characterCount else { return nil }
        var words: InlineArray<3, UInt64> = [0, 0, 0]
        for index in 0..<characterCount {
            guard let digit = digit(text.byte(index)) else { return nil }
            // Six bits a character: they go in at the low end of the last word, and the others move
            // up with them.
            words[0] = words[0] << 6 | words[1] >> 58
            words[1] = words[1] << 6 | words[2] >> 58
            words[2] = words[2] << 6 | digit
        }
        guard words[2] == tag(words[0], words[1], label, owner, store) else { return nil }
        return (words[0], words[1])
    }

    private static func digit(_ character: UInt8) -> UInt64? {
        switch character {
        case 0x41...0x5A: UInt64(character - 0x41)
        case 0x61...0x7A: UInt64(character - 0x61) + 26
        case 0x30...0x39: UInt64(character - 0x30) + 52
        case 0x2D: 62
        case 0x5F: 63
        default: nil
        }
    }

    /// The first eight bytes of a SHA-256, as a big-endian number.
    private static func tag(
        _ first: UInt64, _ second: UInt64, _ label: String, _ owner: RawSpan, _ store: StoreID
    ) -> UInt64 {
        var bytes = Array(label.utf8)
        store.append(to: &bytes)
        owner.withUnsafeBytes { bytes.append(contentsOf: $0) }
        bytes.append(bigEndian: first)
        bytes.append(bigEndian: second)
        let hash = SHA256.digest(of: bytes.span.bytes)
        return UInt64(bigEndian: hash.span.bytes.word(0))
    }
}
