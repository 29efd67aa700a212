/// A place in an owner's feed. It belongs to one owner of one store.
public struct FeedCursor: Sendable, Hashable {
    /// The revision up to which everything has been read.
    public let position: UInt64
    /// What was gone at this revision was never read; 0, or more than the position.
    public let base: UInt64

    /// Bytes of its text.
    public static let textByteCount = 32

    /// The base is dropped where it says nothing more.
    init(position: UInt64, base: UInt64) {
        self.position = position
        self.base = base > position ? base : 0
    }

    /// Reads a text; nil when it is none, or belongs to another owner or store.
    public init?(_ text: RawSpan, owner: RawSpan, store: StoreID) { return nil }

    /// Appends the text: 32 characters of base64url. One SHA-256.
    public func append(owner: RawSpan, store: StoreID, to out: inout [UInt8]) {}
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

/// What became of a notification: its latest change.
public struct FeedChange: Sendable {
    /// What kind of change it was.
    public enum Kind: UInt8, Sendable, Hashable, CaseIterable {
        /// It came to the owner.
        case published
        /// It was changed, or replaced.
        case updated
        /// It was removed, or has another owner now.
        case deleted
        /// Its time was over.
        case expired

        /// `published`, `updated`, `deleted` or `expired`.
        public var name: String {
            switch self {
            case .published: "published"
            case .updated: "updated"
            case .deleted: "deleted"
            case .expired: "expired"
            }
        }
    }

    /// What became of it.
    public var kind: Kind
    /// The notification's id.
    public var id: String
    /// The number of the change.
    public var revision: UInt64
    /// The device that made it, if it said so.
    public var device: String?
    /// A copy of the record; nil when it is gone.
    public var record: Record?
    /// The place behind it.
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

/// Which of an owner's notifications.
public struct HistoryQuery: Sendable, Hashable {
    /// How many at the most, 1…1,000.
    public var limit = 100
    /// Those older than this place.
    public var before: HistoryToken?
    /// Only read ones, or only unread ones.
    public var isRead: Bool?
    /// Only those with this state.
    public var actionState: ActionState?
    /// Only those of this group.
    public var group: String?

    /// All.
    public init() {}
}

/// A place in an owner's history. It belongs to one owner of one store.
public struct HistoryToken: Sendable, Hashable {
    let sequence: UInt64

    init(sequence: UInt64) { self.sequence = sequence }

    /// Reads a text; nil when it is none, or belongs to another owner or store.
    public init?(_ text: RawSpan, owner: RawSpan, store: StoreID) { return nil }

    /// Appends the text: 32 characters of base64url.
    public func append(owner: RawSpan, store: StoreID, to out: inout [UInt8]) {}
}

/// A stretch of an owner's history, newest first, without what has expired.
public struct HistoryPage: Sendable {
    /// At most as many as were asked for.
    public var records: [Record]
    /// Where to go on; nil at the end. A page may have fewer than the limit and yet not be the last.
    public var next: HistoryToken?
    /// The place in the feed that fits: whoever goes on from the first page's misses nothing.
    public var cursor: FeedCursor
}

extension Snapshot {
    /// Changes of an owner's notifications behind `start`.
    ///
    /// One seek, then one lookup for each notification that is there. Looks at 8,192 entries and
    /// copies 1 MiB of records at the most.
    ///
    /// - Throws: ``StoreError/resync`` when deletions may have been forgotten since, or the place
    ///   is ahead of the store: read the history anew and go on from its cursor.
    public borrowing func changes(
        of owner: RawSpan, from start: FeedStart, limit: Int
    ) throws(StoreError) -> FeedPage { throw .notBuilt }

    /// An owner's notifications, newest first. Looks at 4,096 entries at the most.
    public borrowing func history(
        of owner: RawSpan, _ query: HistoryQuery, asOf now: Timestamp
    ) throws(StoreError) -> HistoryPage { throw .notBuilt }

    /// A category; nil when there is none of that name. One lookup.
    public borrowing func category(_ name: RawSpan) throws(StoreError) -> Category? {
        throw .notBuilt
    }

    /// All categories, by the bytes of their names; at most 1,000.
    public borrowing func categories() throws(StoreError) -> [Category] { throw .notBuilt }
}
