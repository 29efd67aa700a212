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
