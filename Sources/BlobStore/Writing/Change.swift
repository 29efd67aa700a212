/// What may be asked of the store.
public enum Change: Sendable {
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
    /// Store a category.
    case setCategory(Category)
    /// Remove a category. Notifications that name it keep the name.
    case removeCategory(name: String)
}

/// A part of a notification, to be stored.
///
/// Publishing the part `payload` sets message, rich type and expiry of the notification anew;
/// named parts that are there stay, and so does everything else it says. Publishing a named part
/// to a notification that is there sets what is given and keeps the rest. An owner stays where none
/// is given, so that nothing falls out of a history by the way.
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
    /// A line of text to show.
    public var message: String?
    /// What kind of rich content it is, in the publisher's words.
    public var richType: String?
    /// When it ends.
    public var expiry: Expiry

    /// A publication of `payload`, with the media type it was prepared for.
    public init(
        id: String?, part: String = "payload", payload: PreparedPayload, owner: String? = nil,
        message: String? = nil, richType: String? = nil, expiry: Expiry
    ) {
        self.id = id
        self.part = part
        self.payload = payload
        mediaType = payload.mediaType
        self.owner = owner
        self.message = message
        self.richType = richType
        self.expiry = expiry
    }
}

/// When a notification ends.
public enum Expiry: Sendable, Hashable {
    /// At this moment, which must not be past.
    case at(Timestamp)
    /// When it ends already; for a notification that is not there, at this moment.
    case keep(otherwise: Timestamp)
}

/// What became of a change.
public enum Outcome: Sendable {
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
