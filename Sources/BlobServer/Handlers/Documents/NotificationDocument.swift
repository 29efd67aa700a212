import BlobJSON
import BlobProtocol
import BlobStore
import Bytes
import Notifications

/// A whole notification, as it is published: a body of its own, a field of a multipart body, or a
/// line of a batch.
struct NotificationDocument: Sendable {
    /// A part that the document names.
    struct Part: Sendable, Hashable {
        var name: String
        /// Nil: that of its file, or else `application/octet-stream`.
        var mediaType: String?
        /// Nil: its bytes come in a file.
        var digest: Digest?
    }

    /// Nil: not said.
    var id: String?
    var owner: String?
    var message: String?
    var richType: String?
    var details = NotificationDetails()
    /// How long it shall live; at most one of these is there.
    var ttlSeconds: Int64?
    var expiryMilliseconds: Int64?
    /// Whose limits hold for its parts; nil: not said.
    var profile: DeviceProfile?
    /// Nil: not said, and then every file is a part.
    var parts: [Part]?

    /// Nothing said.
    init() {}

    /// Reads a document of at most 64 KiB.
    ///
    /// - Parameter id: the path's. The document may repeat it.
    init(parsing bytes: RawSpan, id: String?) throws(ProtocolError) {
        let object = try JSONObject(parsing: bytes, "the notification")
        try object.check(
            [
                "id", "owner", "app", "title", "message", "rich_type", "category", "actions",
                "group", "priority", "display_ttl", "data", "read", "action_state", "ttl",
                "expires_at", "parts", "profile",
            ], immutable: ["created_at", "revision", "device", "responses"])
        self.id = try Self.id(object, in: id)
        if let owner = try object.text("owner") {
            try TextKind.owner.check(owner.utf8.span.bytes)
            self.owner = owner
        }
        message = try object.message()
        richType = try object.richType()
        details.app = try object.app()
        details.title = try object.title()
        details.category = try object.text("category")
        details.group = try object.text("group")
        details.actions = try object.actions()
        details.priority = try object.priority() ?? .high
        details.displayTTLSeconds = try object.displayTTLSeconds() ?? 0
        details.data = object["data"].map { JSONFragment($0) }
        details.isRead = try object.flag("read") ?? false
        details.actionState = try object.actionState() ?? .none
        ttlSeconds = try object.number(
            "ttl", in: 1...(WireLimits.expiryMillisecondsMax / 1_000), .badTTL)
        expiryMilliseconds = try object.expiryMilliseconds()
        try Lifetime.check(ttlSeconds: ttlSeconds, expiryMilliseconds: expiryMilliseconds)
        profile = try object.text("profile").map { (name) throws(ProtocolError) in
            try DeviceProfile(name: name.utf8.span.bytes)
        }
        parts = try object["parts"].map { value throws(ProtocolError) in try Self.parts(value) }
    }

    private static func id(
        _ object: JSONObject, in path: String?
    ) throws(ProtocolError) -> String? {
        guard let id = try object.text("id") else { return path }
        try TextKind.checkID(id.utf8.span.bytes)
        if let path, !path.utf8.elementsEqual(id.utf8) {
            throw ProtocolError(
                .immutableMember,
                "the id \(id.utf8.span.bytes.excerpt()) in the document differs from the path")
        }
        return id
    }

    private static func parts(_ value: JSONValue) throws(ProtocolError) -> [Part] {
        guard case .array(let elements) = value else {
            throw .wrongType("parts", "an array", value)
        }
        try checkCount(elements.count)
        var parts: [Part] = []
        for (index, element) in elements.enumerated() {
            let object = try JSONObject(element, "parts[\(index)]")
            try object.check(["name", "media_type", "digest"])
            let part = Part(
                name: try object.required("name"), mediaType: try object.text("media_type"),
                digest: try digest(object))
            try TextKind.part.check(part.name.utf8.span.bytes)
            if let type = part.mediaType { try TextKind.mediaType.check(type.utf8.span.bytes) }
            guard !parts.contains(where: { $0.isNamed(part.name) }) else {
                throw ProtocolError(
                    .badPart, "duplicate part \(part.name.utf8.span.bytes.excerpt())")
            }
            parts.append(part)
        }
        return parts
    }

    /// Refuses more parts than a notification may have.
    static func checkCount(_ count: Int) throws(ProtocolError) {
        let max = StoreLimits.partCountMax
        guard count <= max else {
            throw ProtocolError(
                .tooManyParts, "too many parts: \(count); the limit is \(max)", limit: max)
        }
    }

    private static func digest(_ object: JSONObject) throws(ProtocolError) -> Digest? {
        guard let text = try object.text("digest") else { return nil }
        return Digest(bytes: try DigestText.parse(text.utf8.span.bytes).span.bytes)
    }

    /// The draft of what it says, without parts.
    func draft(_ expiry: Expiry, device: String?, condition: Condition) -> NotificationDraft {
        var draft = NotificationDraft(id: id, expiry: expiry)
        draft.owner = owner
        draft.message = message
        draft.richType = richType
        draft.details = details
        draft.device = device
        draft.condition = condition
        return draft
    }
}

extension NotificationDocument.Part {
    /// Whether it has that name, by bytes.
    func isNamed(_ name: String) -> Bool { self.name.utf8.elementsEqual(name.utf8) }
}
