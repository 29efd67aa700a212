public import BlobJSON
internal import Bytes
public import Notifications

/// What a notification says and what became of it, besides owner, message, rich type and parts.
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

    /// Nothing said.
    public init() {}

    fileprivate static let nothing = NotificationDetails()

    /// A text of it; nil: it is not said, or the record has it besides its details.
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

/// Keeps what most records have nothing of apart from them, so that copying a record stays cheap.
final class DetailsBox: Sendable, Hashable {
    let value: NotificationDetails
    init(_ value: NotificationDetails) { self.value = value }
    static func == (left: DetailsBox, right: DetailsBox) -> Bool { left.value == right.value }
    func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

extension Record {
    /// What it says and what became of it, besides its parts.
    public var details: NotificationDetails {
        get { box?.value ?? .nothing }
        set { box = newValue == NotificationDetails() ? nil : DetailsBox(newValue) }
    }

    /// Whether ``details`` say anything.
    package var hasDetails: Bool { box != nil }

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
    public var sequence: UInt64 { arrival > 0 ? arrival : revision }
}
