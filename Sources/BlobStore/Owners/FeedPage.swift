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
