import BlobJSON
import BlobProtocol
import BlobStore

/// A merge patch of a notification's mutable fields (RFC 7396). null clears a field.
enum PatchDocument {
    /// Reads a document of at most 64 KiB. Whether the expiry is one that may be chosen is for the
    /// caller to check, who knows the time.
    ///
    /// - Parameter id: the notification's; ignored in the patch of a group.
    static func parse(
        _ bytes: RawSpan, id: String, device: String?, condition: Condition = .none
    ) throws(ProtocolError) -> NotificationPatch {
        let object = try JSONObject(parsing: bytes, "the patch")
        try object.check(
            [
                "title", "message", "rich_type", "category", "actions", "group", "priority",
                "display_ttl", "data", "read", "action_state", "expires_at",
            ],
            immutable: [
                "id", "owner", "app", "created_at", "revision", "parts", "device", "responses",
            ])
        var patch = NotificationPatch(id: id)
        patch.title = object.patch("title", try object.title())
        patch.message = object.patch("message", try object.message())
        patch.richType = object.patch("rich_type", try object.richType())
        patch.category = object.patch("category", try object.text("category"))
        patch.group = object.patch("group", try object.text("group"))
        patch.actions = object.patch("actions", try object.actions())
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
        patch.device = device
        patch.condition = condition
        return patch
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
