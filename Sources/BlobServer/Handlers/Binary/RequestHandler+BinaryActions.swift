import BlobProtocol
import BlobStore
import Bytes
import Notifications

// Frames but fetches: everything a head says is checked before a byte of a body is read.

extension RequestHandler {
    /// What a frame's head asks for.
    func action(
        _ operation: Opcode, _ frame: RequestFrame, _ head: RawSpan
    ) throws(ProtocolError) -> Action {
        switch operation {
        case .put: return try publish(frame, head)
        case .call: return try action(try Call.Request.parse(head, flags: frame.flags), head)
        case .watch:
            let request = try Watch.Request.parse(head, flags: frame.flags)
            return .watch(FeedQuery(request, head), cursor: request.cursor)
        case .hello, .ping, .get, .getBlob:
            throw ProtocolError(.internalError, "\(operation) is answered elsewhere")
        }
    }

    private func publish(_ frame: RequestFrame, _ head: RawSpan) throws(ProtocolError) -> Action {
        let request = try Put.Request.parse(head, flags: frame.flags)
        let draft = PublicationDraft(
            texts: request.texts, part: request.partName, mediaType: request.type,
            expiry: try expiry(
                ttlSeconds: request.ttlSeconds, expiryMilliseconds: request.expiryMilliseconds),
            profile: request.profile)
        return .publish(
            draft, request.coding == .gzip ? .gzip : .identity, byteCount: frame.bodyByteCount)
    }
}

// MARK: - Calls

extension RequestHandler {
    /// What a call asks for. Throws `not_found` for a resource that calls do not have, and
    /// `method_not_allowed`.
    private func action(
        _ call: Call.Request, _ head: RawSpan
    ) throws(ProtocolError) -> Action {
        let (path, query) = call.split(head)
        let route = Route.parse(path: path.of(head))
        // Only calls have it: a proxy that passes HTTP on must not show every id.
        if route == .notifications, call.method == .get { return try list(query.of(head)) }
        let resource = try Resource(route, in: path.of(head))
        guard resource != nil || route == .stats else { throw .notFound("resource") }
        guard route.allows(call.method.http) else {
            throw ProtocolError(
                .methodNotAllowed, "this resource supports \(route.allow), not \(call.method)")
        }
        guard let resource else { return .statistics }
        return .resource(ResourceRequest(call, resource, query: query.of(head)))
    }

    private func list(_ query: RawSpan) throws(ProtocolError) -> Action {
        let query = try ResourceQuery(query.array(), "limit", "after")
        let limit = try query.number(
            "limit", in: 1...WireLimits.listLimitMax, .badLimit,
            default: WireLimits.listLimitMax)
        let after = query["after"] ?? []
        if !after.isEmpty { _ = try NotificationID(onWire: after.span.bytes) }
        return .list(after: after, limit: limit)
    }
}

extension FeedQuery {
    /// What a watch asks for, but from where on. The connection serves nothing else from then on.
    fileprivate init(_ request: Watch.Request, _ head: RawSpan) {
        func text(_ slice: Slice) -> String? { slice.isEmpty ? nil : slice.of(head).text() }
        self.init(
            owner: request.owner.of(head).text(), start: .beginning, limit: request.pageLimit,
            waitSeconds: 0,
            filter: RecordFilter(
                app: text(request.app), isRead: request.isRead,
                actionState: request.actionState.flatMap { ActionState(rawValue: $0) },
                group: text(request.group), platform: text(request.platform),
                targetHost: text(request.targetHost)))
    }
}

extension ResourceRequest {
    /// What a call says about a resource.
    fileprivate init(_ call: Call.Request, _ resource: Resource, query: RawSpan) {
        self.init(method: call.method.http, resource: resource)
        self.query = query.array()
        if call.coding == .gzip { coding = .gzip }
        mediaType = call.type
        device = call.deviceName
        switch call.condition {
        case .none: break
        case .revision(let revision): condition = .revisions([revision])
        case .absent: condition = .absent
        case .exists: condition = .exists
        }
    }
}
