/// A value that has a name in documents, queries and commands.
public protocol NamedValue: CaseIterable, Hashable, Sendable {
    /// Its name in documents.
    var name: String { get }
}

extension NamedValue {
    /// The value with this name; nil for any other text.
    public init?(name: String) {
        guard let found = Self.allCases.first(where: { $0.name.utf8.elementsEqual(name.utf8) })
        else { return nil }
        self = found
    }
}

/// How urgent a notification is. The raw values are used on disk.
public enum NotificationPriority: UInt8, NamedValue {
    /// At once.
    case high = 0
    /// When it suits the device.
    case low = 1

    /// `high` or `low`.
    public var name: String { self == .high ? "high" : "low" }
}

/// What an owner did with a notification. The raw values are used on disk and in the binary protocol.
public enum ActionState: UInt8, NamedValue {
    /// Nothing yet.
    case none = 0
    /// Opened it, or chose one of its actions.
    case activated = 1
    /// Dismissed it.
    case dismissed = 2
    /// Snoozed it.
    case snoozed = 3

    /// `none`, `activated`, `dismissed` or `snoozed`.
    public var name: String {
        switch self {
        case .none: "none"
        case .activated: "activated"
        case .dismissed: "dismissed"
        case .snoozed: "snoozed"
        }
    }
}

/// The answer of an app's content extension (iOS's `UNNotificationContentExtensionResponseOption`). The raw values are
/// used on disk.
public enum ContentExtensionAnswer: UInt8, NamedValue {
    /// The notification is removed, and the app is not told about the action.
    case dismiss = 1
    /// The notification is removed, and the app gets the action.
    case dismissAndForward = 2
    /// The notification stays on screen.
    case doNotDismiss = 3

    /// `dismiss`, `dismiss_and_forward` or `do_not_dismiss`.
    public var name: String {
        switch self {
        case .dismiss: "dismiss"
        case .dismissAndForward: "dismiss_and_forward"
        case .doNotDismiss: "do_not_dismiss"
        }
    }
}

/// The kind of a change in a feed.
public enum ChangeKind: UInt8, NamedValue {
    /// The notification was published, or moved to this owner or to another of its apps.
    case published
    /// It was changed, or replaced.
    case updated
    /// It was deleted, or moved to another owner or app.
    case deleted
    /// It expired.
    case expired
    /// It was published or changed and does not match the feed's filter. Ignore it unless the local copy contains it.
    case left
    /// A category named by a notification of the owner was set or removed.
    case category

    /// `published`, `updated`, `deleted`, `expired`, `left` or `category`.
    public var name: String {
        switch self {
        case .published: "published"
        case .updated: "updated"
        case .deleted: "deleted"
        case .expired: "expired"
        case .left: "left"
        case .category: "category"
        }
    }
}

/// A button.
public struct NotificationAction: Sendable, Hashable {
    /// Its name in responses, 1…64 bytes; not `default` or `dismiss`.
    public var identifier: String
    /// Its label, at most 256 bytes.
    public var title: String
    /// Whether it opens the app.
    public var isForeground: Bool
    /// Whether it destroys something.
    public var isDestructive: Bool
    /// Whether it requires an unlocked device.
    public var requiresAuthentication: Bool

    /// Creates a button.
    public init(
        identifier: String, title: String, isForeground: Bool = false, isDestructive: Bool = false,
        requiresAuthentication: Bool = false
    ) {
        self.identifier = identifier
        self.title = title
        self.isForeground = isForeground
        self.isDestructive = isDestructive
        self.requiresAuthentication = requiresAuthentication
    }
}
