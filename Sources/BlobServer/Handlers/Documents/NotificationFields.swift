import BlobJSON
import BlobProtocol
import BlobStore
import Bytes
import Notifications

// What a document says of a notification's fields. Each throws what is wrong with the value; actions,
// platforms, data and some texts are checked with the change that is made of them.

extension JSONObject {
    /// A text that is checked; nil when it is absent.
    func checked<Rule>(_ name: StaticString) throws(ProtocolError) -> CheckedText<Rule>? {
        guard let text = try text(name) else { return nil }
        return try CheckedText(onWire: text)
    }

    /// A text of the notification; nil when it is absent.
    func text(_ field: TextField) throws(ProtocolError) -> String? {
        let text = try text(field.member)
        if let text, !field.isLeftToTheStore { try field.kind.check(text.utf8.span.bytes) }
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

    /// `platforms`; nil when it is absent.
    func platforms() throws(ProtocolError) -> [String]? {
        guard let value = self["platforms"] else { return nil }
        guard case .array(let elements) = value else {
            throw .wrongType("platforms", "an array of strings", value)
        }
        var platforms: [String] = []
        for element in elements {
            guard case .string(let platform) = element else {
                throw .wrongType("platforms[\(platforms.count)]", "a string", element)
            }
            platforms.append(platform)
        }
        return platforms
    }

    /// `expires_at` in milliseconds since 1970; nil when it is absent.
    func expiryMilliseconds() throws(ProtocolError) -> Int64? {
        guard let text = try text("expires_at") else { return nil }
        return try RFC3339.parse(text.utf8.span.bytes)
    }
}
