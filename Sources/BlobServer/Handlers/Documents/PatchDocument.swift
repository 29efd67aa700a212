import BlobJSON
import BlobProtocol
import BlobStore
import Notifications

/// A merge patch of a notification's mutable fields (RFC 7396). null clears a field.
enum PatchDocument {
    private static let known: [StaticString] =
        TextField.patched.map(\.member) + [
            "actions", "platforms", "priority", "display_ttl", "data", "read", "action_state",
            "expires_at",
        ]
    private static let immutable: [StaticString] =
        ["id", "created_at", "revision", "parts", "responses"] + TextField.allCases.map(\.member)

    /// Reads a document of at most 64 KiB. Its id is nobody's: the path says of what it is. Whether
    /// the expiry is one that may be chosen is for the caller to check, who knows the time.
    static func parse(_ bytes: RawSpan) throws(ProtocolError) -> NotificationPatch {
        let object = try JSONObject(parsing: bytes, "the patch")
        try object.check(known, immutable: immutable)
        var patch = NotificationPatch(id: "")
        for field in TextField.patched {
            patch[field] = object.patch(field.member, try object.text(field))
        }
        patch.actions = object.patch("actions", try object.actions())
        patch.platforms = object.patch("platforms", try object.platforms())
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
