public import BlobJSON
import BlobProtocol
import Bytes
public import Notifications

/// A merge patch of a notification (RFC 7396).
public struct PatchRequest: Sendable, Hashable {
    /// What to do with one member.
    public enum Member<Value: Sendable & Hashable>: Sendable, Hashable {
        /// Do not change it.
        case keep
        /// Remove it, or reset it to its default.
        case clear
        /// Set it.
        case set(Value)
    }

    /// The line above the text.
    public var title = Member<String>.keep
    /// The text.
    public var message = Member<String>.keep
    /// The kind of rich notification.
    public var richType = Member<String>.keep
    /// The category.
    public var category = Member<String>.keep
    /// The notification's own actions; cleared: the category's.
    public var actions = Member<[NotificationRecord.Action]>.keep
    /// The group.
    public var group = Member<String>.keep
    /// The platforms that it is for; cleared: all.
    public var platforms = Member<[String]>.keep
    /// The host that it is for.
    public var targetHost = Member<String>.keep
    /// How urgent it is.
    public var priority = Member<NotificationRecord.Priority>.keep
    /// How long it should be shown, in seconds.
    public var displayTTLSeconds = Member<Int>.keep
    /// Merged with the existing data: objects member by member; null removes a member.
    public var data = Member<JSONValue>.keep
    /// Whether it was read; nil: unchanged.
    public var isRead: Bool?
    /// Its action state; nil: unchanged.
    public var actionState: NotificationRecord.ActionState?
    /// When it expires, in milliseconds since 1970; nil: unchanged.
    public var expiryMilliseconds: Int64?

    /// Creates a patch.
    public init(isRead: Bool? = nil, actionState: NotificationRecord.ActionState? = nil) {
        self.isRead = isRead
        self.actionState = actionState
    }

    var document: [UInt8] {
        var document = DocumentBuilder()
        func add<Value>(_ name: String, _ member: Member<Value>, _ json: (Value) -> JSONValue) {
            switch member {
            case .keep: break
            case .clear: document.add(name, JSONValue.null)
            case .set(let value): document.add(name, json(value))
            }
        }
        add("title", title) { .string($0) }
        add("message", message) { .string($0) }
        add("rich_type", richType) { .string($0) }
        add("category", category) { .string($0) }
        add("actions", actions) { .array($0.map(\.json)) }
        add("group", group) { .string($0) }
        add("platforms", platforms) { .array($0.map { .string($0) }) }
        add("target_host", targetHost) { .string($0) }
        add("priority", priority) { .string($0.name) }
        add("display_ttl", displayTTLSeconds) { .number(JSONNumber(Int64($0))) }
        add("data", data) { $0 }
        document.add("read", isRead.map { .bool($0) })
        document.add("action_state", actionState?.name)
        document.add("expires_at", expiryMilliseconds.map { RFC3339.text($0) })
        return document.bytes
    }
}

/// A user's response to a notification.
public struct ResponseRequest: Sendable, Hashable {
    /// `default` (opened), `dismiss` (dismissed), or the identifier of an action.
    public var action: String
    /// An idempotency key, 1…64 bytes: two responses of one device with the same key count once.
    public var key: String?
    /// Whether the notification stays on screen. It is then neither marked read nor activated.
    public var staysOnScreen: Bool
    /// The answer of the app's content extension, or nil. `doNotDismiss` keeps the notification on screen.
    public var contentExtension: NotificationRecord.ContentExtensionAnswer?

    /// Creates a response.
    public init(
        action: String, key: String? = nil, staysOnScreen: Bool = false,
        contentExtension: NotificationRecord.ContentExtensionAnswer? = nil
    ) {
        self.action = action
        self.key = key
        self.staysOnScreen = staysOnScreen || contentExtension == .doNotDismiss
        self.contentExtension = contentExtension
    }

    var document: [UInt8] {
        var document = DocumentBuilder()
        document.add("action", action)
        document.add("key", key)
        if staysOnScreen { document.add("dismissed", .bool(false)) }
        document.add("extension", contentExtension?.name)
        return document.bytes
    }
}
