public import BlobJSON

/// A whole notification, to be stored with all its parts in one transaction. It takes the place of
/// everything of the one that is there, but its creation time and its place in the history.
public struct NotificationDraft: Sendable {
    /// Its id; nil to have the store assign the next decimal number that is free.
    public var id: String?
    /// The user it is for; nil: nobody, and then it is in no history and no feed.
    public var owner: String?
    /// A line of text to show.
    public var message: String?
    /// What kind of rich content it is, in the publisher's words.
    public var richType: String?
    /// The rest. Device and responses in it are not heeded.
    public var details = NotificationDetails()
    /// When it ends.
    public var expiry: Expiry
    /// Its parts, at most 32; none is a notification of text alone.
    public var parts: [DraftPart] = []
    /// The device it comes from, 1…64 bytes.
    public var device: String?
    /// What must hold of the one that is there.
    public var condition = Condition.none

    /// A notification with nothing in it yet.
    public init(id: String?, expiry: Expiry) {
        self.id = id
        self.expiry = expiry
    }
}

/// A part of a draft.
public struct DraftPart: Sendable {
    /// Where its bytes are.
    public enum Content: Sendable {
        /// Prepared, to be stored unless the store has them.
        case payload(PreparedPayload)
        /// In the store already: referred to by a part, or held.
        case stored(Digest)
    }

    /// Its name, 1…64 bytes; no two of a notification have the same.
    public var name: String
    /// Its media type (RFC 9110, section 8.3).
    public var mediaType: String
    /// Where its bytes are.
    public var content: Content

    /// A part.
    public init(name: String, mediaType: String, content: Content) {
        self.name = name
        self.mediaType = mediaType
        self.content = content
    }
}

/// What a patch says of one field.
public enum FieldPatch<Value: Sendable & Hashable>: Sendable, Hashable {
    /// It stays.
    case keep
    /// It becomes what it is in a notification that does not say it.
    case clear
    /// It becomes this.
    case set(Value)
}

/// Changes of a notification's mutable fields (RFC 7396, with the fields as members). One that
/// changes nothing makes no revision and no entry in the feed.
public struct NotificationPatch: Sendable {
    /// Which notification. Not heeded in the patch of a group.
    public var id: String
    /// The line of text.
    public var message = FieldPatch<String>.keep
    /// The kind of rich content.
    public var richType = FieldPatch<String>.keep
    /// The category.
    public var category = FieldPatch<String>.keep
    /// The group.
    public var group = FieldPatch<String>.keep
    /// Its own actions; cleared, those of its category hold.
    public var actions = FieldPatch<[NotificationAction]>.keep
    /// How urgent it is.
    public var priority = FieldPatch<NotificationPriority>.keep
    /// How long it should be shown, in seconds.
    public var displayTTLSeconds = FieldPatch<UInt32>.keep
    /// `set` is a merge patch of what is there.
    public var data = FieldPatch<JSONValue>.keep
    /// Whether it was read.
    public var isRead = FieldPatch<Bool>.keep
    /// What became of it.
    public var actionState = FieldPatch<ActionState>.keep
    /// `clear` is refused.
    public var expiresAt = FieldPatch<Timestamp>.keep
    /// The device it comes from, 1…64 bytes.
    public var device: String?
    /// What must hold of the one that is there.
    public var condition = Condition.none

    /// A patch that changes nothing yet.
    public init(id: String) { self.id = id }
}

/// The removal of a notification with all its parts.
public struct Removal: Sendable {
    /// Which.
    public var id: String
    /// The device it comes from.
    public var device: String?
    /// What must hold of it.
    public var condition = Condition.none

    /// A removal.
    public init(id: String, device: String? = nil, condition: Condition = .none) {
        self.id = id
        self.device = device
        self.condition = condition
    }
}

/// What an owner chose.
public struct ActionResponse: Sendable {
    /// Of which notification.
    public var id: String
    /// `default`, `dismiss`, or the identifier of one of its actions.
    public var action: String
    /// Makes it the same when it comes again, 1…64 bytes; nil: each is a new one.
    public var key: String?
    /// Whether the notification stays on screen: neither state nor read changes then.
    public var staysOnScreen = false
    /// The device it comes from.
    public var device: String?

    /// A response.
    public init(id: String, action: String, key: String? = nil) {
        self.id = id
        self.action = action
        self.key = key
    }
}

/// A blob to be kept for a while though nothing refers to it yet.
public struct BlobHold: Sendable {
    /// Its bytes.
    public var payload: PreparedPayload
    /// Until when; an earlier moment than it is held until already changes nothing.
    public var until: Timestamp
    /// The digest it must have; nil: any.
    public var expected: Digest?

    /// A hold.
    public init(_ payload: PreparedPayload, until: Timestamp, expected: Digest? = nil) {
        self.payload = payload
        self.until = until
        self.expected = expected
    }
}

/// A blob that is kept for a while.
public struct HeldBlob: Sendable, Hashable {
    /// Which, and how it is stored.
    public var blob: BlobReference
    /// Until when at the least.
    public var until: Timestamp
}

/// A change of many notifications, done in steps that are one bounded transaction each
/// (``BlobStore/advance(_:asOf:)``). What was published after its first step is left alone.
public struct LongChange: Sendable {
    enum Kind: Sendable {
        case patchGroup(owner: String, group: String, NotificationPatch)
        case deleteOwner(String)
    }
    let kind: Kind
    /// The revision at its first step; nil before that.
    var bound: UInt64?
    /// The sequence of the last one that was looked at.
    var position: UInt64 = 0
    /// Notifications that were looked at.
    public internal(set) var matched = 0
    /// Notifications that were changed or removed.
    public internal(set) var changed = 0

    /// The same patch for all of an owner's notifications of one group.
    public static func patchGroup(
        owner: String, group: String, _ patch: NotificationPatch
    ) -> LongChange {
        LongChange(kind: .patchGroup(owner: owner, group: group, patch))
    }

    /// The end of an account: all of its notifications, and what the store remembers of those it
    /// had.
    public static func deleteOwner(_ owner: String) -> LongChange {
        LongChange(kind: .deleteOwner(owner))
    }

    private init(kind: Kind) { self.kind = kind }
}
