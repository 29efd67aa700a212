import BlobJSON
import BlobProtocol
import BlobStore
import Bytes
import Notifications

// What a document says of a notification's fields. Each throws what is wrong with the value; the
// lengths of categories, groups and actions are checked where they are stored.

extension JSONObject {
    /// `message`; nil when it is absent.
    func message() throws(ProtocolError) -> String? {
        guard let text = try text("message") else { return nil }
        try TextKind.message.check(text.utf8.span.bytes)
        return text
    }

    /// `title`; nil when it is absent.
    func title() throws(ProtocolError) -> String? {
        guard let text = try text("title") else { return nil }
        try TextKind.title.check(text.utf8.span.bytes)
        return text
    }

    /// `app`; nil when it is absent.
    func app() throws(ProtocolError) -> String? {
        guard let text = try text("app") else { return nil }
        try TextKind.app.check(text.utf8.span.bytes)
        return text
    }

    /// `rich_type`; nil when it is absent.
    func richType() throws(ProtocolError) -> String? {
        guard let text = try text("rich_type") else { return nil }
        try TextKind.richType.check(text.utf8.span.bytes)
        return text
    }

    /// `priority`; nil when it is absent.
    func priority() throws(ProtocolError) -> NotificationPriority? {
        guard let name = try text("priority") else { return nil }
        guard let priority = NotificationPriority(name: name) else {
            throw ProtocolError(
                .badPriority,
                "unknown priority \(name.utf8.span.bytes.excerpt()); known are high and low")
        }
        return priority
    }

    /// `action_state`; nil when it is absent.
    func actionState() throws(ProtocolError) -> ActionState? {
        guard let name = try text("action_state") else { return nil }
        guard let state = ActionState(name: name) else {
            throw ProtocolError(
                .badActionState,
                "unknown action state \(name.utf8.span.bytes.excerpt()); known are none, activated, dismissed, snoozed"
            )
        }
        return state
    }

    /// `display_ttl` in seconds; nil when it is absent.
    func displayTTLSeconds() throws(ProtocolError) -> UInt32? {
        let bounds = 0...Int64(StoreLimits.displayTTLSecondsMax)
        return try number("display_ttl", in: bounds, .badDisplayTTL).map { UInt32($0) }
    }

    /// `actions`; nil when it is absent.
    func actions() throws(ProtocolError) -> [NotificationAction]? {
        guard let value = self["actions"] else { return nil }
        return try ActionsDocument.parse(value)
    }

    /// `expires_at` in milliseconds since 1970; nil when it is absent.
    func expiryMilliseconds() throws(ProtocolError) -> Int64? {
        guard let text = try text("expires_at") else { return nil }
        return try RFC3339.parse(text.utf8.span.bytes)
    }
}
