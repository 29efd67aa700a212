import BlobJSON
import BlobProtocol
import BlobStore
import Bytes
import Notifications

/// A whole notification, as it is published.
struct NotificationDocument: Sendable {
    struct Part: Sendable, Hashable {
        var name: PartName
        /// nil: the type of its file, or else `application/octet-stream`.
        var mediaType: MediaType?
        /// nil: the bytes are in a file.
        var digest: Digest?
    }

    /// nil: given by the path, or chosen by the store.
    var id: NotificationID?
    /// The caller sets id, expiry, parts, device and condition.
    var draft = NotificationDraft(id: nil, expiry: .after(seconds: 0))
    var lifetime = Lifetime()
    var profile: DeviceProfile?
    /// nil: not given; every file is then a part.
    var parts: [Part]?

    init() {}

    init(
        parsing bytes: RawSpan, id: NotificationID?, _ lifetimes: LifetimeRules
    ) throws(ProtocolError) {
        let object = try DocumentObject(parsing: bytes, "the notification")
        try object.check(
            Self.known,
            immutable: ["created_at", "revision", "category_revision", "device", "responses"])
        self.id = try Self.id(object, in: id)
        for field in TextField.published { draft[field] = try object.text(field) }
        draft.details.actions = try object.actions()
        draft.details.platforms = try object.texts("platforms") ?? []
        draft.details.priority = try object.priority() ?? .high
        draft.details.displayTTLSeconds = try object.displayTTLSeconds() ?? 0
        draft.details.data = object["data"].map { JSONFragment($0) }
        draft.details.isRead = try object.flag("read") ?? false
        draft.details.actionState = try object.actionState() ?? .none
        lifetime.ttlSeconds = try object.number(
            "ttl", in: lifetimes.ttlSecondsBounds, .badTTL, setting: "max-ttl")
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

    static func isMember(_ name: RawSpan) -> Bool { known.contains { name.equals($0) } }

    private static func id(
        _ object: DocumentObject, in path: NotificationID?
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
            let object = try DocumentObject(element, "parts[\(index)]")
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

    private static func digest(_ object: DocumentObject) throws(ProtocolError) -> Digest? {
        guard let text = try object.text("digest") else { return nil }
        return try Digest(onWire: text.utf8.span.bytes)
    }
}

struct ReceivedFile: Sendable {
    var name: PartName
    var mediaType: MediaType
    var payload: PreparedPayload
}

extension NotificationDocument {
    /// The type in the document, or else in the file's head. Needed before the file is finished.
    func mediaType(ofFile name: PartName, saying type: MediaType?) -> MediaType {
        let part = parts?.first { $0.name == name }
        return part?.mediaType ?? type ?? .octetStream
    }

    /// Checks the files' names before any file is finished: a document that names its parts names all files, and each
    /// part has a digest or a file.
    ///
    /// - Parameter fieldLikeMember: see ``MultipartReceiver/fieldLikeMember``.
    func checkFiles(
        _ names: [PartName], fieldLikeMember: PartName? = nil
    ) throws(ProtocolError) {
        for (index, name) in names.enumerated() {
            try require(
                !names[..<index].contains(name), .badMultipart, "duplicate file \(name.excerpt)")
        }
        guard let parts else {
            if let name = fieldLikeMember?.excerpt {
                throw ProtocolError(
                    .badMultipart,
                    "the field \(name) has no file name: give \(name) in the field notification, or a file name if it is a part"
                )
            }
            return try Self.checkCount(names.count)
        }
        for name in names where !parts.contains(where: { $0.name == name }) {
            throw ProtocolError(
                .partUnexpected,
                "the file \(name.excerpt) is not in the document's parts")
        }
        for part in parts where part.digest == nil {
            try require(
                names.contains(part.name), .partMissing,
                "the part \(part.name.excerpt) has no digest and no file")
        }
    }

    /// In the document's order, or the files' if it names none. Throws `digest_mismatch` for a file that differs from
    /// the document, and `unsupported_attachment`.
    func parts(
        _ files: [ReceivedFile], for profile: DeviceProfile? = nil
    ) throws(ProtocolError) -> [DraftPart] {
        var drafts = try drafts(files)
        guard let profile else { return drafts }
        for index in drafts.indices {
            let (part, mediaType) = (drafts[index].name, drafts[index].mediaType)
            drafts[index].limit = PartLimit(
                byteCountMax: try profile.byteCountMax(part: part, mediaType: mediaType),
                name: profile.rawValue)
        }
        return drafts
    }

    private func drafts(_ files: [ReceivedFile]) throws(ProtocolError) -> [DraftPart] {
        try checkFiles(files.map(\.name))
        guard let parts else {
            return files.map { Self.draft($0.name, $0.mediaType, .payload($0.payload)) }
        }
        var drafts: [DraftPart] = []
        for part in parts {
            if let file = files.first(where: { part.name == $0.name }) {
                if let digest = part.digest, digest != file.payload.digest {
                    throw ProtocolError(
                        .digestMismatch(expected: digest, actual: file.payload.digest))
                }
                drafts.append(Self.draft(part.name, file.mediaType, .payload(file.payload)))
            } else if let digest = part.digest {
                drafts.append(
                    Self.draft(part.name, part.mediaType ?? .octetStream, .stored(digest)))
            }
        }
        return drafts
    }

    private static func draft(
        _ name: PartName, _ mediaType: MediaType, _ content: DraftPart.Content
    ) -> DraftPart {
        DraftPart(name: name.text, mediaType: mediaType.text, content: content)
    }
}
