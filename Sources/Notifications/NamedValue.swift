/// A value that documents, queries and commands know by its name.
public protocol NamedValue: CaseIterable, Hashable, Sendable {
    /// Its name in documents.
    var name: String { get }
}

extension NamedValue {
    /// The value of that name; nil for any other text.
    public init?(name: String) {
        guard let found = Self.allCases.first(where: { $0.name.utf8.elementsEqual(name.utf8) })
        else { return nil }
        self = found
    }
}

/// How urgent a notification is. Raw values are those on disk.
public enum NotificationPriority: UInt8, NamedValue {
    /// At once.
    case high = 0
    /// When it suits the device.
    case low = 1

    /// `high` or `low`.
    public var name: String { self == .high ? "high" : "low" }
}

/// What an owner did with a notification. Raw values are those on disk and in the binary protocol.
public enum ActionState: UInt8, NamedValue {
    /// Nothing yet.
    case none = 0
    /// Opened it, or chose one of its actions.
    case activated = 1
    /// Put it away.
    case dismissed = 2
    /// Put it off.
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

/// What an app's content extension answers (iOS's `UNNotificationContentExtensionResponseOption`). Raw values are
/// those on disk.
public enum ContentExtensionAnswer: UInt8, NamedValue {
    /// The notification goes, and the app does not hear of the action.
    case dismiss = 1
    /// The notification goes, and the app gets the action.
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

/// What kind of change a feed reports.
public enum ChangeKind: UInt8, NamedValue {
    /// The notification was published, or moved to this owner.
    case published
    /// It was changed, or replaced.
    case updated
    /// It was deleted, or moved to another owner.
    case deleted
    /// It expired.
    case expired
    /// It was changed and does not match the feed's filter. Ignore it if the local copy does not have it.
    case left
    /// A category was set or removed, and a notification of the owner named it.
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
    /// What a response names it by, 1…64 bytes; not `default` or `dismiss`.
    public var identifier: String
    /// What it says, at most 256 bytes.
    public var title: String
    /// Whether it opens the app.
    public var isForeground: Bool
    /// Whether it destroys something.
    public var isDestructive: Bool
    /// Whether the device must be unlocked for it.
    public var requiresAuthentication: Bool

    /// A button.
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
