import BlobProtocol
import BlobStore

// The binary protocol's `call` and `watch`: HTTP's resources without HTTP.

extension RequestHandler {
    /// What is done for a call, and its answer if that is known at once.
    func call(
        _ frame: RequestFrame, _ head: RawSpan, in snapshot: borrowing Snapshot,
        into batch: inout AnswerBatch
    ) throws(ProtocolError) -> Step {
        let call = try Call.Request.parse(head, flags: frame.flags)
        let request = try ResourceRequest(call, head)
        let step = try perform(request, in: snapshot)
        if case .receive(let plan) = step {
            return .upload(
                try upload(
                    plan, .counted(frame.bodyByteCount), .binary(frame)))
        }
        guard frame.bodyByteCount == 0 else {
            throw ProtocolError(.malformed, "this call must not have a body")
        }
        switch step {
        case .answer(let answer): appendCall(answer, frame, into: &batch)
        case .change(let operation, let reply):
            return .change(
                operation, PendingReply(request: .resource(reply), form: .binary(frame)))
        case .wait(let query): return .wait(query, .binary(frame))
        case .stream(let query): return .stream(query, .binary(frame))
        case .receive: break
        }
        return .answered
    }

    /// What a watch asks for. The connection serves nothing else from then on.
    func watch(_ frame: RequestFrame, _ head: RawSpan) throws(ProtocolError) -> Step {
        let request = try Watch.Request.parse(head, flags: frame.flags)
        let owner = request.owner.of(head).text()
        func text(_ slice: Slice) -> String? { slice.isEmpty ? nil : slice.of(head).text() }
        let filter = RecordFilter(
            app: text(request.app), isRead: request.isRead,
            actionState: request.actionState.flatMap { ActionState(rawValue: $0) },
            group: text(request.group))
        try requireCommitted(unless: store.pendingKeys.mayContain(owner: owner.utf8.span.bytes))
        return .stream(
            FeedQuery(
                owner: owner, start: try feedStart(request.cursor.of(head), of: owner),
                limit: request.pageLimit, waitSeconds: 0, filter: filter),
            .binary(frame))
    }

    /// Appends the answer to a call, whose body is ``document``.
    func appendCall(
        _ answer: ResourceAnswer, _ frame: RequestFrame, into batch: inout AnswerBatch
    ) {
        let hasBody = answer.status != 204
        var mediaType: [UInt8] = []
        if hasBody { mediaType.append(answer.mediaType) }
        let location = Array((answer.location ?? "").utf8)
        var head: [UInt8] = []
        Call.Response.compose(
            revision: answer.revision ?? 0, mediaType: mediaType.span.bytes,
            location: location.span.bytes, into: &head)
        ResponseFrame(
            answering: frame, status: answer.status, headByteCount: UInt32(head.count),
            bodyByteCount: hasBody ? UInt64(document.count) : 0
        ).compose(into: &batch.heads)
        batch.heads.append(contentsOf: head)
        if hasBody { batch.heads.append(contentsOf: document) }
        batch.endAnswer()
    }
}

extension ResourceRequest {
    /// What a call says about a resource. Throws `not_found` for one that calls do not have, and
    /// `method_not_allowed`.
    init(_ call: Call.Request, _ head: RawSpan) throws(ProtocolError) {
        let (path, query) = call.split(head)
        let route = Route.parse(path: path.of(head))
        guard let resource = try Resource(route, in: path.of(head)) else {
            throw .notFound("resource")
        }
        guard route.allows(call.method.http) else {
            throw ProtocolError(
                .methodNotAllowed, "this resource supports \(route.allow), not \(call.method)")
        }
        self.init(method: call.method.http, resource: resource)
        self.query = query.of(head).array()
        if call.coding == .gzip { coding = .gzip }
        if !call.mediaType.isEmpty { mediaType = call.mediaType.of(head).array() }
        if !call.device.isEmpty { device = call.device.of(head).text() }
        switch call.condition {
        case .none: break
        case .revision(let revision): condition = .revisions([revision])
        case .absent: condition = .absent
        case .exists: condition = .exists
        }
    }
}
