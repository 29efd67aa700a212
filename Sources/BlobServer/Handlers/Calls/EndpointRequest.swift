import BlobProtocol
import BlobStore
import Bytes
import Notifications

/// A request for a call of the table, in either dialect. All that its head says is checked but the query, which is
/// its handler's.
///
/// An object, so that handing it on counts no reference for each of its texts. Its worker's thread alone uses it, and
/// nothing changes it once it is made.
final class EndpointRequest {
    let endpoint: Endpoint
    // What the path names.
    @exclusivity(unchecked) private(set) var id: NotificationID?
    @exclusivity(unchecked) private(set) var part: PartName?
    @exclusivity(unchecked) private(set) var owner: OwnerID?
    @exclusivity(unchecked) private(set) var category: CategoryName?
    @exclusivity(unchecked) private(set) var digest: Digest?
    /// As it came, percent-encoded.
    let query: [UInt8]
    /// The body's, with its parameters; nil when it was not said.
    @exclusivity(unchecked) private(set) var mediaType: MediaType?
    @exclusivity(unchecked) private(set) var coding = BodyCoding.identity
    /// How long the body is; nil where that is not said.
    @exclusivity(unchecked) private(set) var bodyByteCount: UInt64?
    @exclusivity(unchecked) private(set) var hasPayload = false
    @exclusivity(unchecked) private(set) var device: DeviceName?
    /// What must hold of the notification or the category that is there.
    @exclusivity(unchecked) private(set) var condition = Condition.none
    /// What a device showed: a signed link, whose parameters are in the query, or a token; nil: a backend asks.
    @exclusivity(unchecked) private(set) var grant: DeviceGrant?
    @exclusivity(unchecked) private(set) var acceptsEvents = false
    /// The place in the feed that a stream was read up to.
    @exclusivity(unchecked) private(set) var lastEventID: [UInt8]?

    private init(
        _ endpoint: Endpoint, _ names: PathPattern.Match, in path: RawSpan, query: RawSpan
    ) throws(ProtocolError) {
        self.endpoint = endpoint
        self.query = query.array()
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
    }

    /// - Parameter grant: what a device showed. A token's owner and device are the request's.
    convenience init(
        _ endpoint: Endpoint, _ names: PathPattern.Match, _ head: HTTPRequestHead,
        _ bytes: RawSpan, by grant: DeviceGrant?
    ) throws(ProtocolError) {
        if endpoint.body == .none { try head.checkNoBody() }
        try self.init(
            endpoint, names, in: head.path.of(bytes), query: head.query.of(bytes))
        self.grant = grant
        condition = try Condition(head, bytes)
        if endpoint.method != .get {
            try readBody(head, bytes)
            if let grant { device = try grant.token?.device.map { try DeviceName(onWire: $0) } }
        } else if endpoint.operation == .changes {
            lastEventID = try head.value(of: "last-event-id", in: bytes)?.of(bytes).array()
            if let accept = try head.value(of: "accept", in: bytes)?.of(bytes) {
                acceptsEvents = MediaRanges.names("text/event-stream", in: accept)
            }
        }
        if let token = grant?.token { owner = try OwnerID(onWire: token.owner) }
    }

    /// The notifications that exist for it; nil: all.
    var scope: NotificationScope? { grant?.token?.notifications }

    /// What a head says of the body, and of the device that makes the change: a payload has none.
    private func readBody(
        _ head: HTTPRequestHead, _ bytes: RawSpan
    ) throws(ProtocolError) {
        if endpoint.body == .notification, endpoint.method == .post {
            hasPayload = try head.isRawPublish(in: bytes)
        } else {
            hasPayload = endpoint.body == .payload
        }
        if hasPayload || endpoint.body == .blob { try head.checkLength() }
        bodyByteCount = head.contentLength
        if endpoint.body.isReceived { coding = try BodyCoding(head, bytes) }
        if let contentType = head.contentType?.of(bytes) {
            mediaType = try MediaType(onWire: contentType)
        }
        if !hasPayload, let name = try head.value(of: "blobd-device", in: bytes)?.of(bytes) {
            device = try DeviceName(onWire: name)
        }
    }

    /// A frame of `call`. Throws `not_found` for what frames do not have, and `method_not_allowed`.
    convenience init(_ call: Call.Request, _ head: RawSpan) throws(ProtocolError) {
        let (path, query) = call.split(head)
        if call.method == .get, case .blob = PayloadPath.parse(path.of(head)) {
            throw ProtocolError(
                .methodNotAllowed, "call does not support GET of a blob; use getBlob")
        }
        let (endpoint, names) = try Endpoint.find(
            call.method, path.of(head), on: .frames)
        try self.init(endpoint, names, in: path.of(head), query: query.of(head))
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

    /// The notification's id, the owner or the category; empty where the path has none.
    var name: String { id?.text ?? owner?.text ?? category?.text ?? "" }

    /// A name that the endpoint's path has.
    func required<Name>(_ name: Name?) throws(ProtocolError) -> Name {
        try BlobProtocol.require(
            name, .internalError, "\(endpoint.name) has no such name in its path")
    }
}
