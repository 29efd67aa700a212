import BlobJSON
import BlobProtocol
import BlobStore
import Notifications

/// A merge patch of a notification's mutable fields (RFC 7396). null clears a field.
struct PatchDocument {
    /// All but texts. Its id is nobody's: the path says of what it is.
    var patch = NotificationPatch(id: "")
    var texts = PatchTexts()

    /// Reads a document of at most 64 KiB. Whether the expiry is one that may be chosen is for the
    /// caller to check, who knows the time.
    init(parsing bytes: RawSpan) throws(ProtocolError) {
        let object = try JSONObject(parsing: bytes, "the patch")
        try object.check(
            [
                "title", "message", "rich_type", "category", "actions", "group", "priority",
                "display_ttl", "data", "read", "action_state", "expires_at", "platforms",
                "target_host",
            ],
            immutable: [
                "id", "owner", "app", "created_at", "revision", "parts", "device", "responses",
            ])
        texts.title = object.patch("title", try object.checked("title"))
        texts.message = object.patch("message", try object.checked("message"))
        texts.richType = object.patch("rich_type", try object.checked("rich_type"))
        patch.category = object.patch("category", try object.text("category"))
        patch.group = object.patch("group", try object.text("group"))
        patch.actions = object.patch("actions", try object.actions())
        patch.platforms = object.patch("platforms", try object.platforms())
        patch.targetHost = object.patch("target_host", try object.text("target_host"))
        patch.priority = object.patch("priority", try object.priority())
        patch.displayTTLSeconds = object.patch("display_ttl", try object.displayTTLSeconds())
        patch.data = object.patch("data", object["data"])
        patch.isRead = object.patch("read", try object.flag("read"))
        patch.actionState = object.patch("action_state", try object.actionState())
        let expiry = try object.expiryMilliseconds()
        patch.expiresAt = object.patch("expires_at", expiry.map { Timestamp(milliseconds: $0) })
        guard patch.expiresAt != .clear else {
            throw ProtocolError(
                .badExpiry, "expires_at must not be null: every notification expires")
        }
    }
}

extension JSONObject {
    /// What a patch says of a field whose value, if it has one, has been read.
    fileprivate func patch<Value>(
        _ name: StaticString, _ value: Value?
    ) -> FieldPatch<Value> {
        if let value { return .set(value) }
        return given(name) == nil ? .keep : .clear
    }
}
