public import BlobJSON
public import Notifications

/// A notification as the daemon describes it. Times are RFC 3339 in UTC, as the daemon wrote them.
public struct NotificationRecord: Sendable, Hashable {
    /// A button.
    public typealias Action = NotificationAction
    /// How urgent a notification is.
    public typealias Priority = NotificationPriority
    /// What its owner did with a notification.
    public typealias ActionState = Notifications.ActionState
    /// What an app's content extension answers to an action that was chosen in it.
    public typealias ContentExtensionAnswer = Notifications.ContentExtensionAnswer

    /// A named payload of a notification.
    public struct Part: Sendable, Hashable {
        /// The part's name; the unnamed one is called `payload`.
        public let name: String
        /// The media type as it was put.
        public let mediaType: String
        /// The digest, `sha256:` and 64 hexadecimal digits.
        public let digest: String
        /// How many bytes were given.
        public let byteCount: Int64
        /// How many bytes they take in the store.
        public let storedByteCount: Int64
        /// How they are stored: `identity` or `gzip`.
        public let coding: String
    }

    /// What its owner chose, once.
    public struct Response: Sendable, Hashable {
        /// `default`, `dismiss`, or an action's identifier.
        public let action: String
        /// Its idempotency key, or nil.
        public let key: String?
        /// The device it came from, or nil.
        public let device: String?
        /// When it came, or nil.
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
    /// The category whose actions it has unless it has its own, or nil.
    public let category: String?
    /// The category's revision when the notification was changed last, or nil. Read the category again if your copy
    /// has a lower one.
    public let categoryRevision: UInt64?
    /// Its own actions; nil: the category's.
    public let actions: [Action]?
    /// Its group, or nil.
    public let group: String?
    /// The platforms that it is for; none: all.
    public let platforms: [String]
    /// The host that it is for, or nil.
    public let targetHost: String?
    /// How urgent it is, or nil.
    public let priority: Priority?
    /// How long it should be shown, in seconds, or nil.
    public let displayTTLSeconds: Int?
    /// The publisher's own data, or nil. Numbers are as they were written.
    public let data: JSONValue?
    /// Whether its owner has read it, or nil.
    public let isRead: Bool?
    /// What its owner did with it, or nil.
    public let actionState: ActionState?
    /// The device that made the latest change, or nil.
    public let device: String?
    /// What its owner chose, oldest first, the 32 latest.
    public let responses: [Response]
    /// When it was created.
    public let createdAt: String
    /// When it expires.
    public let expiresAt: String
    /// The store's revision at which it last changed.
    public let revision: UInt64
    /// Its parts.
    public let parts: [Part]

    /// Reads the document that `stat` and many other calls answer.
    public init(document: [UInt8]) throws(ClientError) {
        try self.init(DocumentReader(document))
    }

    init(_ reader: DocumentReader) throws(ClientError) {
        id = try reader.text("id")
        owner = try reader.optionalText("owner")
        app = try reader.optionalText("app")
        title = try reader.optionalText("title")
        message = try reader.optionalText("message")
        richType = try reader.optionalText("rich_type")
        category = try reader.optionalText("category")
        categoryRevision = try reader.optionalInteger("category_revision")
        actions = try reader.optionalList("actions", Action.init)
        group = try reader.optionalText("group")
        platforms = try reader.optionalTexts("platforms")
        targetHost = try reader.optionalText("target_host")
        priority = try reader.optionalChoice("priority")
        displayTTLSeconds = try reader.optionalInteger("display_ttl")
        data = reader.member("data")
        isRead = try reader.optionalFlag("read")
        actionState = try reader.optionalChoice("action_state")
        device = try reader.optionalText("device")
        responses = try reader.optionalList("responses", Response.init) ?? []
        createdAt = try reader.text("created_at")
        expiresAt = try reader.text("expires_at")
        revision = try reader.integer("revision")
        parts = try reader.list("parts", Part.init)
    }
}

extension NotificationRecord.Part {
    init(_ reader: DocumentReader) throws(ClientError) {
        name = try reader.text("name")
        mediaType = try reader.text("media_type")
        digest = try reader.text("digest")
        byteCount = try reader.integer("byte_count")
        storedByteCount = try reader.integer("stored_byte_count")
        coding = try reader.text("coding")
    }
}

extension NotificationAction {
    init(_ reader: DocumentReader) throws(ClientError) {
        self.init(
            identifier: try reader.text("identifier"), title: try reader.text("title"),
            isForeground: try reader.optionalFlag("foreground") ?? false,
            isDestructive: try reader.optionalFlag("destructive") ?? false,
            requiresAuthentication: try reader.optionalFlag("authentication_required") ?? false)
    }

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
    init(_ reader: DocumentReader) throws(ClientError) {
        action = try reader.text("action")
        key = try reader.optionalText("key")
        device = try reader.optionalText("device")
        at = try reader.optionalText("at")
        revision = try reader.optionalInteger("revision")
        staysOnScreen = try reader.optionalFlag("dismissed") == false
        contentExtension = try reader.optionalChoice("extension")
    }
}

/// A page of a list, in the byte order of the ids. Expired notifications are left out.
public struct NotificationPage: Sendable, Hashable {
    /// The notifications of the page.
    public let notifications: [NotificationRecord]
    /// The id to continue after, or nil when this is the last page.
    public let next: String?

    init(_ reader: DocumentReader) throws(ClientError) {
        notifications = try reader.list("notifications", NotificationRecord.init)
        next = try reader.optionalText("next")
    }
}
