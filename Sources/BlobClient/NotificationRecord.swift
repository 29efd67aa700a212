public import BlobJSON
import BlobProtocol
public import Notifications

/// A notification as described by the daemon. Times are in RFC 3339, in UTC.
public struct NotificationRecord: Sendable, Hashable {
    /// A button.
    public typealias Action = NotificationAction
    /// How urgent a notification is.
    public typealias Priority = NotificationPriority
    /// What the owner did with a notification.
    public typealias ActionState = Notifications.ActionState
    /// The answer of an app's content extension to an action that was chosen in it.
    public typealias ContentExtensionAnswer = Notifications.ContentExtensionAnswer

    /// A named payload of a notification.
    public struct Part: Sendable, Hashable {
        /// The part's name; the unnamed one is called `payload`.
        public let name: String
        /// The media type as given.
        public let mediaType: String
        /// The digest, `sha256:` and 64 hexadecimal digits.
        public let digest: String
        /// The number of bytes given.
        public let byteCount: Int64
        /// The number of bytes they take in the store.
        public let storedByteCount: Int64
        /// How they are stored: `identity` or `gzip`.
        public let coding: String
    }

    /// One choice of the owner.
    public struct Response: Sendable, Hashable {
        /// `default`, `dismiss`, or an action's identifier.
        public let action: String
        /// Its idempotency key, or nil.
        public let key: String?
        /// The device that sent it, or nil.
        public let device: String?
        /// When it arrived, or nil.
        public let at: String?
        /// The revision that recorded it, or nil.
        public let revision: UInt64?
        /// Whether the notification stayed on screen.
        public let staysOnScreen: Bool
        /// What the app's content extension answered, or nil.
        public let contentExtension: ContentExtensionAnswer?
    }

    /// The notification's id.
    public let id: String
    /// The user it is for, or nil.
    public let owner: String?
    /// Which of the user's apps it is for, or nil.
    public let app: String?
    /// The line above the text, or nil.
    public let title: String?
    /// The text, or nil.
    public let message: String?
    /// The kind of rich notification, or nil.
    public let richType: String?
    /// The category, whose actions apply unless it has its own, or nil.
    public let category: String?
    /// The category's revision at the notification's last change, or nil. Read the category again if your copy has a
    /// lower one.
    public let categoryRevision: UInt64?
    /// Its own actions; nil: the category's.
    public let actions: [Action]?
    /// Its group, or nil.
    public let group: String?
    /// The platforms that it is for; empty: all.
    public let platforms: [String]
    /// The host that it is for, or nil.
    public let targetHost: String?
    /// How urgent it is, or nil.
    public let priority: Priority?
    /// How long it should be shown, in seconds, or nil.
    public let displayTTLSeconds: Int?
    /// The publisher's data, or nil. Numbers keep their text.
    public let data: JSONValue?
    /// Whether its owner has read it, or nil.
    public let isRead: Bool?
    /// What its owner did with it, or nil.
    public let actionState: ActionState?
    /// The device that made the latest change, or nil.
    public let device: String?
    /// The owner's latest responses, at most 32, oldest first.
    public let responses: [Response]
    /// When it was created.
    public let createdAt: String
    /// When it expires.
    public let expiresAt: String
    /// The store's revision of its last change.
    public let revision: UInt64
    /// Its parts.
    public let parts: [Part]

    /// Reads the document that `stat` and many other calls return.
    public init(document: [UInt8]) throws(ClientError) {
        self = try readDocument(document, NotificationRecord.init(_:))
    }

    init(_ object: DocumentObject) throws(ProtocolError) {
        id = try object.required("id")
        owner = try object.text("owner")
        app = try object.text("app")
        title = try object.text("title")
        message = try object.text("message")
        richType = try object.text("rich_type")
        category = try object.text("category")
        categoryRevision = try object.integer("category_revision")
        actions = try object.objects("actions", Action.init)
        group = try object.text("group")
        platforms = try object.texts("platforms") ?? []
        targetHost = try object.text("target_host")
        priority = try object.choice("priority")
        displayTTLSeconds = try object.integer("display_ttl")
        data = object["data"]
        isRead = try object.flag("read")
        actionState = try object.choice("action_state")
        device = try object.text("device")
        responses = try object.objects("responses", Response.init) ?? []
        createdAt = try object.required("created_at")
        expiresAt = try object.required("expires_at")
        revision = try object.required("revision")
        parts = try object.requiredObjects("parts", Part.init)
    }
}

extension NotificationRecord.Part {
    init(_ object: DocumentObject) throws(ProtocolError) {
        name = try object.required("name")
        mediaType = try object.required("media_type")
        digest = try object.required("digest")
        byteCount = try object.required("byte_count")
        storedByteCount = try object.required("stored_byte_count")
        coding = try object.required("coding")
    }
}

extension NotificationAction {
    var json: JSONValue {
        var members = [
            JSONMember("identifier", .string(identifier)), JSONMember("title", .string(title)),
        ]
        if isForeground { members.append(JSONMember("foreground", .bool(true))) }
        if isDestructive { members.append(JSONMember("destructive", .bool(true))) }
        if requiresAuthentication {
            members.append(JSONMember("authentication_required", .bool(true)))
        }
        return .object(members)
    }
}

extension NotificationRecord.Response {
    init(_ object: DocumentObject) throws(ProtocolError) {
        action = try object.required("action")
        key = try object.text("key")
        device = try object.text("device")
        at = try object.text("at")
        revision = try object.integer("revision")
        staysOnScreen = try object.flag("dismissed") == false
        contentExtension = try object.choice("extension")
    }
}

/// A page of a list, in the byte order of the ids. Expired notifications are omitted.
public struct NotificationPage: Sendable, Hashable {
    /// The notifications of the page.
    public let notifications: [NotificationRecord]
    /// The id to continue after; nil on the last page.
    public let next: String?

    init(_ object: DocumentObject) throws(ProtocolError) {
        notifications = try object.requiredObjects("notifications", NotificationRecord.init)
        next = try object.text("next")
    }
}
