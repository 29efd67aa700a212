import BlobProtocol
public import Notifications

/// Selects some of an owner's notifications, for a history or a feed. A nil member matches all.
///
/// A feed with a filter reports a notification that matches with its record, and any other as `left`. A local copy
/// belongs to one filter. For another filter, read the history with it, and continue from that history's cursor.
public struct NotificationFilter: Sendable, Hashable {
    /// Whether notifications exist.
    public enum Status: String, Sendable, Hashable, CaseIterable {
        /// They exist.
        case active
        /// They were deleted or have expired, and the daemon remembers them. Can only be combined with `app`.
        case deleted
    }

    /// Existing or deleted ones; nil: existing ones.
    public var status: Status?
    /// Only notifications of this app. A feed does not report other apps' notifications, not even as `left`.
    public var app: String?
    /// Only read ones, or only unread ones.
    public var isRead: Bool?
    /// Only notifications with this state.
    public var actionState: NotificationRecord.ActionState?
    /// Only notifications of this group.
    public var group: String?
    /// Only notifications for this platform: those that name it, or none.
    public var platform: String?
    /// Only notifications for this host: those that name it, or none.
    public var targetHost: String?

    /// Creates a filter.
    public init(
        app: String? = nil, isRead: Bool? = nil,
        actionState: NotificationRecord.ActionState? = nil, group: String? = nil,
        platform: String? = nil, targetHost: String? = nil
    ) {
        self.app = app
        self.isRead = isRead
        self.actionState = actionState
        self.group = group
        self.platform = platform
        self.targetHost = targetHost
    }

    var query: CallTarget.Query {
        [
            ("app", app), ("read", isRead.map { "\($0)" }), ("action_state", actionState?.name),
            ("group", group), ("platform", platform), ("target_host", targetHost),
            ("status", status?.rawValue),
        ]
    }
}

/// A page of an owner's notifications, newest first, without expired ones.
public struct NotificationHistory: Sendable, Hashable {
    /// The notifications; empty if deleted ones were requested.
    public let notifications: [NotificationRecord]
    /// Deleted and expired notifications, if requested.
    public let deleted: [DeletedNotification]
    /// Where the next page begins; nil at the end.
    public let next: String?
    /// The feed's cursor at the time of this page. Reading changes from the first page's cursor misses nothing.
    public let cursor: String

    init(_ object: DocumentObject) throws(ProtocolError) {
        let deleted = try object.objects("deleted", DeletedNotification.init)
        notifications =
            deleted != nil
            ? [] : try object.requiredObjects("notifications", NotificationRecord.init)
        self.deleted = deleted ?? []
        next = try object.text("next")
        cursor = try object.required("cursor")
    }
}

/// What the daemon remembers about a notification that was deleted or has expired.
public struct DeletedNotification: Sendable, Hashable {
    /// Its id, which may have been used again.
    public let id: String
    /// `deleted` or `expired`.
    public let kind: NotificationChange.Kind
    /// The revision of its removal.
    public let revision: UInt64
    /// The device that removed it, or nil.
    public let device: String?
    /// Its app, or nil.
    public let app: String?
    /// Until when the daemon remembers it (RFC 3339).
    public let rememberedUntil: String

    init(_ object: DocumentObject) throws(ProtocolError) {
        id = try object.required("id")
        kind = try object.required("kind", try object.choice("kind"))
        revision = try object.required("revision")
        device = try object.text("device")
        app = try object.text("app")
        rememberedUntil = try object.required("remembered_until")
    }
}

/// The latest change of a notification, or of a category of one of the owner's notifications.
public struct NotificationChange: Sendable, Hashable {
    /// The kind of a change.
    public typealias Kind = ChangeKind

    /// The cursor after this change. Store it once the change is applied.
    public let cursor: String
    /// The kind of the change.
    public let kind: Kind
    /// The notification's id, or the category's name.
    public let id: String
    /// The revision. Later changes have higher ones.
    public let revision: UInt64
    /// The device that made the change, or nil.
    public let device: String?
    /// The notification; nil if it was deleted, has expired or left.
    public let notification: NotificationRecord?
    /// For the kind `category`: the category as it is now; nil if it was removed.
    public let category: NotificationCategory?
    /// For the kind `category`: the app whose notifications it is for; nil: all.
    public let app: String?

    init(_ object: DocumentObject) throws(ProtocolError) {
        cursor = try object.required("cursor")
        kind = try object.required("kind", try object.choice("kind"))
        if kind == .category {
            let named = try object.required(
                "category", try object.object("category", Self.namedCategory))
            id = named.name
            app = named.app
            category = named.category
        } else {
            id = try object.required("id")
            app = nil
            category = nil
        }
        revision = try object.required("revision")
        device = try object.text("device")
        notification = try object.object("notification", NotificationRecord.init)
    }

    private static func namedCategory(
        _ object: DocumentObject
    ) throws(ProtocolError) -> (name: String, app: String?, category: NotificationCategory?) {
        guard try object.flag("deleted") != true else {
            return (try object.required("name"), try object.text("app"), nil)
        }
        let category = try NotificationCategory(object)
        return (category.name, category.app, category)
    }
}

/// A page of an owner's feed, in the order of the changes. A notification occurs once for each app that it was in: after
/// a move to another app, as `deleted`, and then with its latest change in the present app.
public struct ChangePage: Sendable, Hashable {
    /// The changes.
    public let changes: [NotificationChange]
    /// The cursor to continue from.
    public let next: String
    /// Whether there are more changes now.
    public let hasMore: Bool

    /// Reads the document of a page.
    public init(document: [UInt8]) throws(ClientError) {
        self = try readDocument(document, ChangePage.init(_:))
    }

    init(_ object: DocumentObject) throws(ProtocolError) {
        changes = try object.requiredObjects("changes", NotificationChange.init)
        next = try object.required("next")
        hasMore = try object.flag("more") ?? false
    }
}
