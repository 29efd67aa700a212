import BlobProtocol

/// The result of publishing a whole notification, which is on the daemon's disk.
public struct PublishReceipt: Sendable, Hashable {
    /// The notification as it is now.
    public let notification: NotificationRecord
    /// Whether it is new.
    public let isCreated: Bool

    init(_ answer: CallAnswer) throws(ClientError) {
        notification = try NotificationRecord(document: answer.body)
        isCreated = answer.status == 201
    }
}

/// The result of one notification of a batch.
public struct BatchResult: Sendable, Hashable {
    /// Its id; nil if it was refused.
    public let id: String?
    /// The HTTP status: 201 created, 200 replaced, 400 and above: refused.
    public let status: Int
    /// Its revision, or nil.
    public let revision: UInt64?
    /// The stable name of the error, or nil.
    public let code: String?
    /// A description of the error, or nil.
    public let detail: String?

    init(_ object: DocumentObject) throws(ProtocolError) {
        id = try object.text("id")
        status = try object.required("status")
        revision = try object.integer("revision")
        code = try object.text("code")
        detail = try object.text("detail")
    }
}

/// A blob that was stored before the notifications that will refer to it.
public struct HeldBlobReceipt: Sendable, Hashable {
    /// Its digest.
    public let digest: PayloadDigest
    /// Whether the daemon did not have it before.
    public let isCreated: Bool
    /// The number of bytes given.
    public let byteCount: Int64
    /// The number of bytes they take in the store.
    public let storedByteCount: Int64
    /// How they are stored: `identity` or `gzip`.
    public let coding: String
    /// How long it is kept while nothing refers to it (RFC 3339).
    public let heldUntil: String

    init(_ answer: CallAnswer) throws(ClientError) {
        self = try readDocument(answer.body) { (object) throws(ProtocolError) in
            try HeldBlobReceipt(object, isCreated: answer.status == 201)
        }
    }

    private init(_ object: DocumentObject, isCreated: Bool) throws(ProtocolError) {
        digest = try Digest(onWire: try object.required("digest").utf8.span.bytes)
        self.isCreated = isCreated
        byteCount = try object.required("byte_count")
        storedByteCount = try object.required("stored_byte_count")
        coding = try object.required("coding")
        heldUntil = try object.required("held_until")
    }
}

/// The result of a response.
public struct ResponseReceipt: Sendable, Hashable {
    /// The notification as it is now.
    public let notification: NotificationRecord
    /// Whether this call recorded it; false if its key was known.
    public let isNew: Bool

    init(_ answer: CallAnswer) throws(ClientError) {
        notification = try NotificationRecord(document: answer.body)
        isNew = answer.status == 201
    }
}

/// The result of changing a group.
public struct GroupReceipt: Sendable, Hashable {
    /// The number of notifications in the group.
    public let matchedCount: Int
    /// The number of them that were changed.
    public let changedCount: Int

    init(_ object: DocumentObject) throws(ProtocolError) {
        matchedCount = try object.required("matched")
        changedCount = try object.required("changed")
    }
}

/// The push for a notification.
public struct RenderedEnvelope: Sendable, Hashable {
    /// `application/json` or `text/xml`.
    public let mediaType: String
    /// What to send to the provider, unchanged.
    public let bytes: [UInt8]
    /// The fields of the request, without those for sender and recipient.
    public let headers: [Header]

    /// A field of the request to the provider.
    public struct Header: Sendable, Hashable {
        /// Its name, as in the provider's documentation.
        public let name: String
        /// Its value.
        public let value: String
    }

    /// The value of a field; its name is case-insensitive.
    public subscript(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    init(_ object: DocumentObject) throws(ProtocolError) {
        mediaType = try object.required("media_type")
        headers = try object.textMembers("headers").map { Header(name: $0.name, value: $0.value) }
        bytes = Array(try object.required("body").utf8)
    }
}

/// A push service.
public enum EnvelopePlatform: String, Sendable, Hashable, CaseIterable {
    /// Apple's push service.
    case apns
    /// Google's push service.
    case fcm
    /// Microsoft's push service.
    case wns
    /// The push service of the user's browser (RFC 8030).
    case webpush
}

/// How a push is shown.
public enum EnvelopeStyle: String, Sendable, Hashable, CaseIterable {
    /// Not at all: it wakes the app, which fetches and shows the notification. Systems delay or drop such pushes, and
    /// iOS starts no app that its user has quit.
    case silent
    /// As an alert, which the system shows even if the app is not running. The app may complete it first.
    case alert
}

/// The default actions of notifications, and how devices treat these.
public struct NotificationCategory: Sendable, Hashable {
    /// How devices treat the notifications of a category (iOS's `UNNotificationCategoryOptions`).
    public enum Option: String, Sendable, Hashable, CaseIterable {
        /// The app is told when its user dismisses one.
        case customDismissAction = "custom_dismiss_action"
        /// They may be shown in CarPlay.
        case allowInCarPlay = "allow_in_carplay"
        /// The title is shown even if previews are hidden.
        case hiddenPreviewsShowTitle = "hidden_previews_show_title"
        /// The subtitle is shown even if previews are hidden.
        case hiddenPreviewsShowSubtitle = "hidden_previews_show_subtitle"
        /// They may be read aloud.
        case allowAnnouncement = "allow_announcement"
    }

    /// Its name.
    public let name: String
    /// The app whose notifications it is for; nil: all.
    public let app: String?
    /// Its revision, for conditions, or nil.
    public let revision: UInt64?
    /// At most 10.
    public let actions: [NotificationRecord.Action]
    /// How devices treat its notifications. Options that this client does not know are omitted.
    public let options: [Option]

    init(_ object: DocumentObject) throws(ProtocolError) {
        name = try object.required("name")
        app = try object.text("app")
        revision = try object.integer("revision")
        actions = try object.requiredObjects("actions", NotificationRecord.Action.init)
        options = (try object.texts("options") ?? []).compactMap { Option(rawValue: $0) }
    }
}

/// The result of setting a category, which is on the daemon's disk.
public struct CategoryReceipt: Sendable, Hashable {
    /// The category as it is now.
    public let category: NotificationCategory
    /// Whether it is new.
    public let isCreated: Bool

    init(_ answer: CallAnswer) throws(ClientError) {
        category = try readDocument(answer.body, NotificationCategory.init)
        isCreated = answer.status == 201
    }
}

/// A page of the categories, by name and app; see ``DaemonCall/categories(after:)``.
public struct CategoryList: Sendable, Hashable {
    /// The categories of the page.
    public let categories: [NotificationCategory]
    /// The cursor to continue after; nil on the last page.
    public let next: String?

    init(_ object: DocumentObject) throws(ProtocolError) {
        categories = try object.requiredObjects("categories", NotificationCategory.init)
        next = try object.text("next")
    }
}
