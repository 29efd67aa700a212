import BlobProtocol
import BlobStore
import Bytes
import Notifications

/// A request for a call of the table, in either dialect. Its head is checked, except for the values in the query. An
/// object, so that handing it on does not retain each of its texts. Immutable once created.
final class EndpointRequest {
    let endpoint: Endpoint
    // What the path names.
    @exclusivity(unchecked) private(set) var id: NotificationID?
    @exclusivity(unchecked) private(set) var part: PartName?
    @exclusivity(unchecked) private(set) var owner: OwnerID?
    @exclusivity(unchecked) private(set) var category: CategoryName?
    @exclusivity(unchecked) private(set) var digest: Digest?
    /// The parameters that the row accepts.
    @exclusivity(unchecked) private(set) var query = EndpointQuery()
    /// The body's, with its parameters; nil if it is not given.
    @exclusivity(unchecked) private(set) var mediaType: MediaType?
    @exclusivity(unchecked) private(set) var coding = BodyCoding.identity
    @exclusivity(unchecked) private(set) var bodyByteCount: UInt64?
    @exclusivity(unchecked) private(set) var hasPayload = false
    @exclusivity(unchecked) private(set) var device: DeviceName?
    /// What must hold for the existing notification or category.
    @exclusivity(unchecked) private(set) var condition = Condition.none
    /// What a device presented: a signed link, whose parameters are in the query, or a token; nil: a backend.
    @exclusivity(unchecked) private(set) var grant: DeviceGrant?
    /// Whether to answer with changes as they happen: a stream of events, or of frames.
    @exclusivity(unchecked) private(set) var isWatch = false
    /// The position in the feed up to which a stream was read.
    @exclusivity(unchecked) private(set) var lastEventID: [UInt8]?
    /// Given by the frame of a put instead of a query.
    @exclusivity(unchecked) private(set) var publication: Publication?

    private init(_ endpoint: Endpoint) { self.endpoint = endpoint }

    private func read(
        _ names: PathPattern.Match, in path: RawSpan, query: RawSpan
    ) throws(ProtocolError) {
        var slice = names.first
        for parameter in endpoint.parameters {
            let text = slice.of(path)
            switch parameter {
            case .id: id = try NotificationID(inPath: text)
            case .owner: owner = try OwnerID(inPath: text)
            case .digest: digest = try Digest(onWire: text)
            case .name where id == nil: category = try CategoryName(inPath: text)
            case .name: part = try PartName(inPath: text)
            }
            slice = names.second
        }
        if let known = hasPayload ? Publication.parameters : endpoint.query {
            self.query = try EndpointQuery(query, known, isLink: endpoint.rules.contains(.signed))
        }
    }

    convenience init(
        _ endpoint: Endpoint, _ names: PathPattern.Match, _ head: HTTPRequestHead,
        _ bytes: RawSpan, by grant: DeviceGrant?
    ) throws(ProtocolError) {
        if endpoint.body == .none { try head.checkNoBody() }
        self.init(endpoint)
        self.grant = grant
        if let token = grant?.token { owner = try OwnerID(onWire: token.owner) }
        if endpoint.body == .notification, endpoint.method == .post {
            hasPayload = try head.isRawPublish(in: bytes)
        } else {
            hasPayload = endpoint.body == .payload
        }
        try read(names, in: head.path.of(bytes), query: head.query.of(bytes))
        condition = try Condition(head, bytes)
        if endpoint.method != .get {
            try readBody(head, bytes)
        } else if endpoint.operation == .changes {
            lastEventID = try head.value(of: "last-event-id", in: bytes)?.of(bytes).array()
            if let accept = try head.value(of: "accept", in: bytes)?.of(bytes) {
                isWatch = MediaRanges.names("text/event-stream", in: accept)
            }
        }
    }

    /// Reads what a head states about the body, and about the device that makes the change. A payload has no device.
    private func readBody(_ head: HTTPRequestHead, _ bytes: RawSpan) throws(ProtocolError) {
        if hasPayload || endpoint.body == .blob { try head.checkLength() }
        bodyByteCount = head.contentLength
        if endpoint.body.isReceived { coding = try BodyCoding(head, bytes) }
        if let contentType = head.contentType?.of(bytes) {
            mediaType = try MediaType(onWire: contentType)
        }
        if let token = grant?.token {
            device = try token.device.map { (name) throws(ProtocolError) in
                try DeviceName(onWire: name)
            }
        } else if !hasPayload, let name = try head.value(of: "blobd-device", in: bytes)?.of(bytes) {
            device = try DeviceName(onWire: name)
        }
    }

    /// The notifications that exist for the request; nil: all.
    var scope: NotificationScope? { grant?.token?.notifications }

    /// A frame of `call`. Throws `not_found` for calls that frames do not offer, and `method_not_allowed`.
    convenience init(_ call: Call.Request, _ head: RawSpan) throws(ProtocolError) {
        let (path, query) = call.split(head)
        if call.method == .get, case .blob = PayloadPath.parse(path.of(head)) {
            throw ProtocolError(
                .methodNotAllowed, "call does not support GET of a blob; use get")
        }
        let (endpoint, names) = try Endpoint.find(call.method, path.of(head), on: .frames)
        self.init(endpoint)
        try read(names, in: path.of(head), query: query.of(head))
        isWatch = call.isWatch
        try require(
            !isWatch || endpoint.operation == .changes, .malformed,
            "\(endpoint.name) cannot be watched; only changes can")
        if call.coding == .gzip { coding = .gzip }
        mediaType = call.mediaType
        device = call.device
        switch call.condition {
        case .none: break
        case .revision(let revision): condition = .revisions([revision])
        case .absent: condition = .absent
        case .exists: condition = .exists
        }
    }

    convenience init(_ put: Put.Request, bodyByteCount: UInt64) {
        self.init(.putPart)
        id = put.texts.id
        part = put.part
        mediaType = put.mediaType
        if put.coding == .gzip { coding = .gzip }
        self.bodyByteCount = bodyByteCount
        publication = Publication(
            lifetime: put.lifetime, texts: put.texts, profile: put.profile)
    }

    /// The notification's id, the owner or the category; empty if the path names none.
    var name: String { id?.text ?? owner?.text ?? category?.text ?? "" }

    func required<Name>(_ name: Name?) throws(ProtocolError) -> Name {
        try BlobProtocol.require(
            name, .internalError, "\(endpoint.name) has no such name in its path")
    }
}

/// What a put states about its notification: in the query of HTTP, or in the head of a frame.
struct Publication {
    static let parameters: [StaticString] = [
        "ttl", "expires_at", "title", "message", "rich_type", "owner", "app", "profile",
    ]

    var lifetime = Lifetime()
    var texts = NotificationTexts()
    /// The profile whose limits apply; nil: none.
    var profile: DeviceProfile?

    init(lifetime: Lifetime, texts: NotificationTexts, profile: DeviceProfile?) {
        self.lifetime = lifetime
        self.texts = texts
        self.profile = profile
    }

    init(_ query: EndpointQuery, _ lifetimes: LifetimeRules) throws(ProtocolError) {
        lifetime.ttlSeconds = try query.ttlSeconds(lifetimes)
        if let time = query["expires_at"] {
            lifetime.expiryMilliseconds = try RFC3339.parse(time.span.bytes)
        }
        try lifetime.check()
        texts.title = try query.name("title", isAbsentIfEmpty: true)
        texts.message = try query.name("message", isAbsentIfEmpty: true)
        texts.richType = try query.name("rich_type", isAbsentIfEmpty: true)
        texts.owner = try query.name("owner", isAbsentIfEmpty: true)
        texts.app = try query.name("app", isAbsentIfEmpty: true)
        if let name = query["profile"] { profile = try DeviceProfile(name: name.span.bytes) }
    }
}
