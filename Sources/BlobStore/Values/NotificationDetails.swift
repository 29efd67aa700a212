public import BlobJSON
internal import Bytes
package import Notifications

/// What a notification says and what became of it, beside owner, message, rich type and parts.
public struct NotificationDetails: Sendable, Hashable {
    /// A line above the message, at most 256 bytes; nil: none.
    public var title: String?
    /// Which of the owner's apps it is for, 1…64 bytes; nil: none in particular.
    public var app: String?
    /// The category whose actions it has unless it has its own, 1…64 bytes; nil: none.
    public var category: String?
    /// The revision of that category when the notification was changed last; 0: none. The store sets it. An edit
    /// that comes later is told in the owner's feed.
    public internal(set) var categoryRevision: UInt64 = 0
    /// What it belongs to, so that it can be changed together with others of its owner, 1…128
    /// bytes; nil: nothing.
    public var group: String?
    /// Its buttons, at most 10; nil: those of its category. Empty: none.
    public var actions: [NotificationAction]?
    /// The platforms that it is for, at most 16, each 1…32 bytes and no two the same; none: all.
    public var platforms: [String] = []
    /// The host that it is for, 1…255 bytes; nil: none in particular.
    public var targetHost: String?
    /// How urgent it is.
    public var priority = NotificationPriority.high
    /// How long it should be shown, in seconds, at most 2,592,000; 0: not said.
    public var displayTTLSeconds: UInt32 = 0
    /// Anything else, at most 16,384 bytes of JSON; nil: nothing.
    public var data: JSONFragment?
    /// Whether its owner has read it.
    public var isRead = false
    /// What its owner did with it.
    public var actionState = ActionState.none
    /// The device that made the latest change, 1…64 bytes; nil: not said. The store sets it.
    public internal(set) var device: String?
    /// What its owner chose, oldest first, the 32 latest. The store keeps them.
    public internal(set) var responses: [RecordedResponse] = []
    /// The revision at which it came to its owner; 0: the record's own.
    var sequence: UInt64 = 0

    /// Nothing said.
    public init() {}

    /// A text of it; nil: it is not said, or the record has it beside its details.
    package subscript(field: TextField) -> String? {
        get {
            switch field {
            case .title: title
            case .app: app
            case .category: category
            case .group: group
            case .targetHost: targetHost
            case .device: device
            case .owner, .message, .richType: nil
            }
        }
        set {
            switch field {
            case .title: title = newValue
            case .app: app = newValue
            case .category: category = newValue
            case .group: group = newValue
            case .targetHost: targetHost = newValue
            case .device: device = newValue
            case .owner, .message, .richType: break
            }
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

/// How urgent a notification is.
public enum NotificationPriority: UInt8, Sendable, Hashable, CaseIterable {
    /// At once.
    case high = 0
    /// When it suits the device.
    case low = 1

    /// `high` or `low`.
    public var name: String { self == .high ? "high" : "low" }

    /// The priority of that name; nil for any other text.
    public init?(name: String) {
        guard let found = Self.allCases.first(where: { $0.name.utf8.elementsEqual(name.utf8) })
        else { return nil }
        self = found
    }
}

/// What an owner did with a notification.
public enum ActionState: UInt8, Sendable, Hashable, CaseIterable {
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

    /// The state of that name; nil for any other text.
    public init?(name: String) {
        guard let found = Self.allCases.first(where: { $0.name.utf8.elementsEqual(name.utf8) })
        else { return nil }
        self = found
    }
}

/// What an owner chose.
public struct RecordedResponse: Sendable, Hashable {
    /// `default`, `dismiss`, or an action's identifier.
    public var action: String
    /// What made it the same when it came again from its device, 1…64 bytes; nil: nothing did.
    public var key: String?
    /// The device it came from.
    public var device: String?
    /// When it came.
    public var at: Timestamp
    /// The change that recorded it.
    public var revision: UInt64
    /// Whether the notification stayed on screen.
    public var staysOnScreen: Bool
    /// What the app's content extension answered; nil: there was none, or it did not say.
    public var contentExtension: ContentExtensionAnswer?
}

/// What an app's content extension answers to an action that was chosen in it (iOS's
/// `UNNotificationContentExtensionResponseOption`).
public enum ContentExtensionAnswer: UInt8, Sendable, Hashable, CaseIterable {
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

    /// The answer of that name; nil for any other text.
    public init?(name: String) {
        guard let found = Self.allCases.first(where: { $0.name.utf8.elementsEqual(name.utf8) })
        else { return nil }
        self = found
    }
}

/// Keeps what most records have nothing of apart from them, so that copying a record stays cheap.
final class DetailsBox: Sendable, Hashable {
    let value: NotificationDetails
    init(_ value: NotificationDetails) { self.value = value }
    static func == (left: DetailsBox, right: DetailsBox) -> Bool { left.value == right.value }
    func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

extension Record {
    /// What it says and what became of it, beside its parts.
    public var details: NotificationDetails {
        get { box?.value ?? NotificationDetails() }
        set { box = newValue == NotificationDetails() ? nil : DetailsBox(newValue) }
    }

    package subscript(field: TextField) -> String? {
        get {
            switch field {
            case .owner: owner
            case .message: message
            case .richType: richType
            default: box?.value[field]
            }
        }
        set {
            switch field {
            case .owner: owner = newValue
            case .message: message = newValue
            case .richType: richType = newValue
            // Without making details of nothing, or a copy of them for no change.
            default: if !self[field].isSame(as: newValue) { details[field] = newValue }
            }
        }
    }

    /// The line above the message; nil when there is none.
    public var title: String? {
        get { box?.value.title }
        set { self[.title] = newValue }
    }

    /// Which of the owner's apps it is for; nil: none in particular.
    public var app: String? {
        get { box?.value.app }
        set { self[.app] = newValue }
    }

    var device: String? { box?.value.device }

    /// Whether it shows nothing and carries nothing: no title, no message, no data and no part.
    var isEmpty: Bool {
        parts.isEmpty && (message ?? "").isEmpty && (title ?? "").isEmpty
            && box?.value.data == nil
    }

    /// The revision at which it came to its owner: its place in the history.
    public var sequence: UInt64 {
        guard let sequence = box?.value.sequence, sequence > 0 else { return revision }
        return sequence
    }
}
