/// What may be asked of the store. Indirect, so that handing it on does not retain each of its texts.
public indirect enum Change: Sendable {
    /// Store a part of a notification.
    case publish(Publication)
    /// Remove a notification with all its parts.
    case delete(id: String)
    /// Store a whole notification.
    case publishNotification(NotificationDraft)
    /// Change some fields of one.
    case patch(NotificationPatch)
    /// Remove one, as `delete` does, under a condition.
    case remove(Removal)
    /// Record what its owner chose.
    case respond(ActionResponse)
    /// Keep a blob for a while.
    case hold(BlobHold)
    /// Store a category. Owners with a live notification that shows it find a line in their feeds, unless it says
    /// what was there already.
    case setCategory(Category, condition: Condition = .none)
    /// Remove a category. Notifications that name it keep the name; their owners find a line in their feeds.
    case removeCategory(name: String, app: String? = nil, condition: Condition = .none)
}

/// A part of a notification, to be stored. What is not said stays as it is: texts, owner, the other parts, and with
/// ``Expiry/keep(otherwise:)`` the expiry. A notification that is not there, or has expired, is a new one.
public struct Publication: Sendable {
    /// The notification's id; nil to have the store assign the next decimal number that is free.
    public var id: String?
    /// The part's name.
    public var part: String
    /// Its bytes.
    public var payload: PreparedPayload
    /// Its media type.
    public var mediaType: String
    /// The user it is for, 1…255 bytes; nil: who it is for already. Another one than that takes it
    /// out of the one's history and into the other's.
    public var owner: String?
    /// Which of the owner's apps it is for, 1…64 bytes; nil: the one it is for already.
    public var app: String?
    /// A line above the message, at most 256 bytes; nil: the one it has.
    public var title: String?
    /// A line of text to show; nil: the one it has.
    public var message: String?
    /// What kind of rich content it is, in the publisher's words; nil: what it has.
    public var richType: String?
    /// When it ends.
    public var expiry: Expiry
    /// What must hold of the part that is there.
    public var condition: Condition
    /// The most bytes it may have; nil: as many as the store takes.
    public var limit: PartLimit?

    /// A publication of `payload`, with the media type it was prepared for.
    public init(
        id: String?, part: String = "payload", payload: PreparedPayload, owner: String? = nil,
        app: String? = nil, title: String? = nil, message: String? = nil, richType: String? = nil,
        expiry: Expiry, condition: Condition = .none, limit: PartLimit? = nil
    ) {
        self.id = id
        self.part = part
        self.payload = payload
        mediaType = payload.mediaType
        self.owner = owner
        self.app = app
        self.title = title
        self.message = message
        self.richType = richType
        self.expiry = expiry
        self.condition = condition
        self.limit = limit
    }
}

/// What became of a change. Indirect, so that handing it on does not retain each of a record's texts.
public indirect enum Outcome: Sendable {
    /// It is stored and on disk. `created`: the part was not there before.
    case published(Record, created: Bool)
    /// It is removed, and that is on disk.
    case deleted
    /// It is changed, and that is on disk.
    case changed(Record)
    /// It was like that already; nothing was written.
    case unchanged(Record)
    /// The blob is kept. `created`: it was not stored before.
    case held(HeldBlob, created: Bool)
    /// The category is stored. `created`: there was none of that name.
    case categorySet(Category, created: Bool)
    /// There was nothing to delete.
    case notFound
    /// It was not done, and changed nothing.
    case refused(StoreError)
}

extension Change {
    /// Whether owners may have to be told of it (``BlobStore/announceCategoryEdits(asOf:)``).
    package var isCategoryEdit: Bool {
        switch self {
        case .setCategory, .removeCategory: true
        default: false
        }
    }
}
