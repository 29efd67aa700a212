import BlobJSON
import BlobProtocol
import BlobStore
import Bytes
import Notifications

/// A merge patch of a notification's mutable fields (RFC 7396). null clears a field.
enum PatchDocument {
    private static let known: [StaticString] =
        TextField.patched.map(\.member) + [
            "actions", "platforms", "priority", "display_ttl", "data", "read", "action_state",
            "expires_at",
        ]
    private static let immutable: [StaticString] =
        ["id", "created_at", "revision", "category_revision", "parts", "responses"]
        + TextField.allCases.map(\.member)

    /// The caller sets the id and, since it needs the time, checks the expiry.
    static func parse(_ bytes: RawSpan) throws(ProtocolError) -> NotificationPatch {
        let object = try DocumentObject(parsing: bytes, "the patch")
        try require(
            object.given("ttl") == nil, .unknownMember,
            "a patch cannot contain ttl; give expires_at, the time at which the notification expires"
        )
        try object.check(known, immutable: immutable)
        var patch = NotificationPatch(id: "")
        for field in TextField.patched {
            patch[field] = object.patch(field.member, try object.text(field))
        }
        patch.actions = object.patch("actions", try object.actions())
        patch.platforms = object.patch("platforms", try object.texts("platforms"))
        patch.priority = object.patch("priority", try object.priority())
        patch.displayTTLSeconds = object.patch("display_ttl", try object.displayTTLSeconds())
        patch.data = object.patch("data", object["data"])
        patch.isRead = object.patch("read", try object.flag("read"))
        patch.actionState = object.patch("action_state", try object.actionState())
        let expiry = try object.expiryMilliseconds()
        patch.expiresAt = object.patch("expires_at", expiry.map { Timestamp(milliseconds: $0) })
        try require(
            patch.expiresAt != .clear, .badExpiry,
            "expires_at must not be null: every notification expires")
        return patch
    }
}

/// An owner's response: `{"action","key","dismissed","extension"}`.
enum ResponseDocument {
    /// `dismissed` defaults to true, unless the content extension's answer says otherwise.
    static func parse(
        _ bytes: RawSpan, id: NotificationID
    ) throws(ProtocolError) -> ActionResponse {
        let object = try DocumentObject(parsing: bytes, "the response")
        try object.check(["action", "key", "dismissed", "extension"])
        var response = ActionResponse(
            id: id.text, action: try object.required("action"), key: try object.text("key"))
        let isDismissed = try object.flag("dismissed")
        response.contentExtension = try contentExtension(object)
        response.staysOnScreen =
            isDismissed.map { !$0 } ?? (response.contentExtension == .doNotDismiss)
        return response
    }

    private static func contentExtension(
        _ object: DocumentObject
    ) throws(ProtocolError) -> ContentExtensionAnswer? {
        guard let name = try object.text("extension") else { return nil }
        let known = ContentExtensionAnswer.allCases.map(\.name)
        return try require(
            ContentExtensionAnswer(name: name), .badResponse,
            "unknown extension \(name.excerpt); known are \(known.joined(separator: ", "))")
    }
}

// The fields of a notification in a document. Actions, platforms, data and some texts are checked with the change.

extension DocumentObject {
    func checked<Rule>(_ name: StaticString) throws(ProtocolError) -> CheckedText<Rule>? {
        guard let text = try text(name) else { return nil }
        return try CheckedText(onWire: text)
    }

    func text(_ field: TextField) throws(ProtocolError) -> String? {
        let text = try text(field.member)
        if let text, !field.isLeftToTheStore { try field.kind.check(text.utf8.span.bytes) }
        return text
    }

    func priority() throws(ProtocolError) -> NotificationPriority? {
        guard let name = try text("priority") else { return nil }
        return try require(
            NotificationPriority(name: name), .badPriority,
            "unknown priority \(name.excerpt); known are high and low")
    }

    func actionState() throws(ProtocolError) -> ActionState? {
        try text("action_state").map { (name) throws(ProtocolError) in
            try ActionState(onWire: name)
        }
    }

    func displayTTLSeconds() throws(ProtocolError) -> UInt32? {
        let bounds = 1...Int64(StoreLimits.displayTTLSecondsMax)
        return try number("display_ttl", in: bounds, .badDisplayTTL).map { UInt32($0) }
    }

    func actions() throws(ProtocolError) -> [NotificationAction]? {
        try elements("actions").map { (elements) throws(ProtocolError) in
            try ActionsDocument.parse(elements)
        }
    }

    func expiryMilliseconds() throws(ProtocolError) -> Int64? {
        guard let text = try text("expires_at") else { return nil }
        return try RFC3339.parse(text.utf8.span.bytes)
    }

    fileprivate func patch<Value>(
        _ name: StaticString, _ value: Value?
    ) -> FieldPatch<Value> {
        if let value { return .set(value) }
        return given(name) == nil ? .keep : .clear
    }
}

extension ActionState {
    init(onWire name: String) throws(ProtocolError) {
        self = try require(
            ActionState(name: name), .badActionState,
            "unknown action state \(name.excerpt); known are none, activated, dismissed, snoozed")
    }
}
