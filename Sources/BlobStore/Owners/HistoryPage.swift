/// Which of an owner's notifications.
public struct HistoryQuery: Sendable, Hashable {
    /// How many at the most, 1…1,000; what is beyond counts as the nearest of them.
    public var limit = 100
    /// Those older than this cursor.
    public var before: HistoryToken?
    /// Only those that match.
    public var filter = RecordFilter()
    /// Stored bytes of records in the page at the most, if that is less than
    /// ``StoreLimits/pageByteCountMax``.
    public var byteCountMax = StoreLimits.pageByteCountMax

    /// All.
    public init() {}

    /// The filter's: only read ones, or only unread ones.
    public var isRead: Bool? {
        get { filter.isRead }
        set { filter.isRead = newValue }
    }

    /// The filter's: only those with this state.
    public var actionState: ActionState? {
        get { filter.actionState }
        set { filter.actionState = newValue }
    }

    /// The filter's: only those of this group.
    public var group: String? {
        get { filter.group }
        set { filter.group = newValue }
    }
}

/// A position in an owner's history. It belongs to one owner of one store.
public struct HistoryToken: Sendable, Hashable {
    let sequence: UInt64

    /// Bytes of its text.
    public static let textByteCount = CursorText.characterCount

    private static let label = "blobd history 1"

    init(sequence: UInt64) { self.sequence = sequence }

    /// Reads a text; nil when it is none, or belongs to another owner or store. One SHA-256.
    public init?(_ text: RawSpan, owner: RawSpan, store: StoreID) {
        guard
            let (sequence, _) = CursorText.read(text, label: Self.label, owner: owner, store: store)
        else { return nil }
        self.sequence = sequence
    }

    /// Appends the text: 32 characters of base64url. One SHA-256.
    public func append(owner: RawSpan, store: StoreID, to out: inout [UInt8]) {
        CursorText.append(sequence, 0, label: Self.label, owner: owner, store: store, to: &out)
    }
}

/// A stretch of an owner's history, newest first, without what has expired.
public struct HistoryPage: Sendable {
    /// At most as many as were asked for.
    public var records: [Record]
    /// Those that are not there any more, where these were asked for, newest first by when they were removed.
    public var deleted: [Tombstone] = []
    /// Where to go on; nil at the end. A page may have fewer than the limit and yet not be the
    /// last.
    public var next: HistoryToken?
    /// The cursor of the feed at this moment: a reader that continues from the first page's misses nothing.
    public var cursor: FeedCursor
}

/// What is remembered of a notification that was deleted or has expired.
public struct Tombstone: Sendable, Hashable {
    /// Its id, which another notification may have by now.
    public var id: String
    /// Whether its time was over.
    public var hasExpired: Bool
    /// The number of the change that removed it.
    public var revision: UInt64
    /// The device that removed it, if it said so.
    public var device: String?
    /// Its app.
    public var app: String?
    /// Until when it is remembered.
    public var rememberedUntil: Timestamp
}
