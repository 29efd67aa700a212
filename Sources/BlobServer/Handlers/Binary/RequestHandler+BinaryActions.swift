import BlobProtocol
import BlobStore
import Bytes

// Frames but fetches: everything a head says is checked before a byte of a body is read.

extension RequestHandler {
    /// What a frame's head asks for.
    func action(
        _ operation: Opcode, _ frame: RequestFrame, _ head: RawSpan
    ) throws(ProtocolError) -> Action {
        switch operation {
        case .put: return try publish(frame, head)
        case .call:
            return .endpoint(
                try EndpointRequest(try Call.Request.parse(head, flags: frame.flags), head))
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
