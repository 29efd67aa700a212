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
    /// Of the kinds `published` and `updated`: a copy of the record. Otherwise nil.
    public var record: Record?
    /// Of the kind `category`: the category as it is now; nil when it is gone.
    public var category: Category?
    /// Of the kind `category`: the app whose notifications it is for; nil: all.
    public var app: String?
    /// The cursor after it.
    public var cursor: FeedCursor
}

/// A stretch of a feed in one snapshot, in the order of the commits. A notification is in it once for each app that it
/// has been of: one that moved to another app is `deleted`, and after that what it is in its present app.
public struct FeedPage: Sendable {
    /// At most as many as were asked for.
    public var changes: [FeedChange]
    /// Where to continue.
    public var next: FeedCursor
    /// Whether there is more after it now. A page may be empty and have more.
    public var hasMore: Bool
    /// The store's revision in the snapshot it is from: wait for changes after it.
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
    /// After everything there is.
    case latest
    /// After what was read.
    case after(FeedCursor)
}

/// The text of a cursor in a feed or a history: two numbers and a tag over them, the owner and the store, as 32
/// characters of base64url. The tag finds mistakes, such as another owner's cursor. It is not a secret.
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

    /// The two numbers; nil when `text` is none, or belongs to another owner, store or kind of cursor.
    static func read(
        _ text: RawSpan, label: String, owner: RawSpan, store: StoreID
    ) -> (UInt64, UInt64)? {
        guard text.byteCount == characterCount, let bytes = Base64.decode(text.array()),
            bytes.count == byteCount
        else { return nil }
        let (first, second) = (
            UInt64(bigEndian: bytes.span.bytes.word(0)), UInt64(bigEndian: bytes.span.bytes.word(8))
        )
        // What is not written so is none: the other alphabet's characters, or another tag.
        var written: [UInt8] = []
        append(first, second, label: label, owner: owner, store: store, to: &written)
        return written.span.bytes.equals(text) ? (first, second) : nil
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
