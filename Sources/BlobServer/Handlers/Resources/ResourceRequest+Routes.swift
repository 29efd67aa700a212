import BlobProtocol
import BlobStore
import Bytes
import Notifications

extension Resource {
    /// The resource that a route names; nil for those that each dialect has in its own way.
    ///
    /// Throws what is wrong with the names in the path.
    init?(_ route: Route, in path: RawSpan) throws(ProtocolError) {
        switch route {
        case .notification(let id):
            self = .notification(id: try NotificationID(inPath: id.of(path)))
        case .notifications: self = .newNotification
        case .batch: self = .batch
        case .responses(let id): self = .responses(id: try NotificationID(inPath: id.of(path)))
        case .envelope(let id): self = .envelope(id: try NotificationID(inPath: id.of(path)))
        case .blob(let digest): self = .heldBlob(try Self.digest(digest.of(path)))
        case .blobs: self = .newBlob
        case .categories: self = .categories
        case .scrub: self = .scrub
        case .replication: self = .replication
        case .category(let name): self = .category(name: try CategoryName(inPath: name.of(path)))
        case .owner(let owner): self = .owner(try OwnerID(inPath: owner.of(path)))
        case .ownerNotifications(let owner):
            self = .ownerNotifications(try OwnerID(inPath: owner.of(path)))
        case .ownerChanges(let owner): self = .ownerChanges(try OwnerID(inPath: owner.of(path)))
        case .changesLink(let owner): self = .ownerChanges(try OwnerID(inPath: owner.of(path)))
        case .livez, .readyz, .stats, .metrics, .backup, .openAPI, .payload, .classicPayload, .part,
            .link,
            .partLink, .unknown:
            return nil
        }
    }

    /// The digest that a path names. Throws `bad_digest`.
    static func digest(_ text: RawSpan) throws(ProtocolError) -> Digest {
        try Digest(onWire: text)
    }
}

extension ResourceRequest {
    /// What an HTTP request's head says about a resource.
    init(
        _ resource: Resource, _ head: HTTPRequestHead, _ bytes: RawSpan
    ) throws(ProtocolError) {
        self.init(method: head.method == .head ? .get : head.method, resource: resource)
        query = head.query.of(bytes).array()
        condition = try Condition(head, bytes)
        guard method == .get else {
            if method != .delete { coding = try BodyCoding(head, bytes) }
            if let contentType = head.contentType?.of(bytes) {
                mediaType = try MediaType(onWire: contentType)
            }
            if let name = try head.value(of: "blobd-device", in: bytes)?.of(bytes) {
                device = try DeviceName(onWire: name)
            }
            return
        }
        guard case .ownerChanges = resource else { return }
        lastEventID = try head.value(of: "last-event-id", in: bytes)?.of(bytes).array()
        if let accept = try head.value(of: "accept", in: bytes)?.of(bytes) {
            acceptsEvents = MediaRanges.names("text/event-stream", in: accept)
        }
    }
}

extension BodyCoding {
    /// How the body of a request is coded (RFC 9110, section 8.4). Throws
    /// `unsupported_content_coding` for more than one coding, and for any but deflate and gzip, which may be
    /// called `x-gzip`.
    init(_ head: HTTPRequestHead, _ bytes: RawSpan) throws(ProtocolError) {
        self = .identity
        guard let name = head.contentEncoding?.of(bytes), !name.equalsIgnoringCase("identity")
        else { return }
        if name.equalsIgnoringCase("gzip") || name.equalsIgnoringCase("x-gzip") {
            self = .gzip
        } else if name.equalsIgnoringCase("deflate") {
            self = .deflate
        } else {
            throw ProtocolError(
                .unsupportedContentCoding,
                "the content coding \(name.excerpt()) is not supported; known are gzip, deflate, identity"
            )
        }
    }
}
