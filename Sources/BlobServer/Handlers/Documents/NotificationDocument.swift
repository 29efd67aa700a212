import BlobJSON
import BlobProtocol
import BlobStore
import Bytes
import Notifications

/// A whole notification, as it is published: a body of its own, a field of a multipart body, or a
/// line of a batch.
struct NotificationDocument: Sendable {
    struct Part: Sendable, Hashable {
        var name: PartName
        /// Nil: that of its file, or else `application/octet-stream`.
        var mediaType: MediaType?
        /// Nil: its bytes come in a file.
        var digest: Digest?
    }

    /// Nil: the path says it, or the store chooses.
    var id: NotificationID?
    /// What it says of the notification. Id, expiry, parts, device and condition are set by the
    /// reader, who knows them.
    var draft = NotificationDraft(id: nil, expiry: .after(seconds: 0))
    var lifetime = Lifetime()
    var profile: DeviceProfile?
    /// Nil: not said, and then every file is a part.
    var parts: [Part]?

    init() {}

    /// Reads a document of at most 64 KiB, which may repeat the path's id.
    init(parsing bytes: RawSpan, id: NotificationID?) throws(ProtocolError) {
        let object = try JSONObject(parsing: bytes, "the notification")
        try object.check(Self.known, immutable: ["created_at", "revision", "device", "responses"])
        self.id = try Self.id(object, in: id)
        for field in TextField.published { draft[field] = try object.text(field) }
        draft.details.actions = try object.actions()
        draft.details.platforms = try object.platforms() ?? []
        draft.details.priority = try object.priority() ?? .high
        draft.details.displayTTLSeconds = try object.displayTTLSeconds() ?? 0
        draft.details.data = object["data"].map { JSONFragment($0) }
        draft.details.isRead = try object.flag("read") ?? false
        draft.details.actionState = try object.actionState() ?? .none
        lifetime.ttlSeconds = try object.number(
            "ttl", in: 1...(WireLimits.expiryMillisecondsMax / 1_000), .badTTL)
        lifetime.expiryMilliseconds = try object.expiryMilliseconds()
        try lifetime.check()
        profile = try object.text("profile").map { (name) throws(ProtocolError) in
            try DeviceProfile(name: name.utf8.span.bytes)
        }
        parts = try object.elements("parts").map { elements throws(ProtocolError) in
            try Self.parts(elements)
        }
    }

    private static let known: [StaticString] =
        ["id"] + TextField.published.map(\.member) + [
            "actions", "platforms", "priority", "display_ttl", "data", "read", "action_state",
            "ttl", "expires_at", "parts", "profile",
        ]

    private static func id(
        _ object: JSONObject, in path: NotificationID?
    ) throws(ProtocolError) -> NotificationID? {
        guard let id: NotificationID = try object.checked("id") else { return path }
        if let path, path != id {
            throw ProtocolError(
                .immutableMember,
                "the id \(id.excerpt) in the document differs from the path")
        }
        return id
    }

    private static func parts(_ elements: [JSONValue]) throws(ProtocolError) -> [Part] {
        try checkCount(elements.count)
        var parts: [Part] = []
        for (index, element) in elements.enumerated() {
            let object = try JSONObject(element, "parts[\(index)]")
            try object.check(["name", "media_type", "digest"])
            let (text, digest) = (try object.required("name"), try digest(object))
            let part = Part(
                name: try PartName(onWire: text), mediaType: try object.checked("media_type"),
                digest: digest)
            try require(
                !parts.contains(where: { $0.name == part.name }), .badPart,
                "duplicate part \(text.excerpt)")
            parts.append(part)
        }
        return parts
    }

    static func checkCount(_ count: Int) throws(ProtocolError) {
        let max = StoreLimits.partCountMax
        try require(
            count <= max, .tooManyParts,
            "too many parts: \(count); the limit is \(max)", limit: max)
    }

    private static func digest(_ object: JSONObject) throws(ProtocolError) -> Digest? {
        guard let text = try object.text("digest") else { return nil }
        return try Digest(onWire: text.utf8.span.bytes)
    }
}
