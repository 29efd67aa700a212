import BlobProtocol
import BlobStore
import Bytes

// What is asked for besides payloads' bytes, answered once for both dialects.

extension RequestHandler {
    /// Answers what can be answered in the snapshot, and says what else is to be done. The action's slices are of
    /// `text`.
    func perform(
        _ action: Action, _ text: RawSpan, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> ActionStep {
        switch action {
        case .endpoint(let request): return try perform(request, in: snapshot)
        case .check(let reply): return .write(.checkWritable, reply)
        case .publish(let draft, let coding, let byteCount):
            let step = try publish(draft, coding, byteCount: byteCount, in: snapshot)
            try requireWritable()
            return step
        case .watch(var query, let cursor):
            query.start = try feedStart(cursor.of(text), of: query.owner)
            return .subscribe(query)
        }
    }

    func perform(
        _ request: EndpointRequest, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> ActionStep {
        let endpoint = request.endpoint
        if endpoint.body.isReceived, isStopping { throw .stopping }
        if endpoint.method == .get {
            if !endpoint.rules.contains(.withoutMemory) { try requireAnswerMemory() }
        } else if !endpoint.rules.contains(.conditions), request.condition != .none {
            throw ProtocolError(
                .malformed, "this resource has no revision and does not support conditions")
        }
        let step: ActionStep
        switch endpoint.action {
        case .perform(let method): step = try method(self)(request)
        case .performInSnapshot(let method): step = try method(self)(request, snapshot)
        case .fetch:
            throw ProtocolError(.internalError, "\(endpoint.name) is answered elsewhere")
        }
        if endpoint.isChange { try requireWritable() }
        return step
    }

    /// A notification that exists for the request. To a device, another's is as if there were none.
    func record(
        _ id: RawSpan, for request: EndpointRequest, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> Record {
        let scope = request.scope
        switch try asked(try snapshot.record(for: id, asOf: now)) {
        case .found(let record) where scope?.contains(record) ?? true: return record
        case .expired(let moment) where scope == nil: throw .expired("notification", at: moment)
        case .found, .expired, .missing: throw .notFound("notification")
        }
    }

    // MARK: - Results

    func answer(to reply: Reply, _ result: ChangeResult) throws(ProtocolError) -> Answer {
        switch (reply, result) {
        case (.ready, .failed(let error)): throw ProtocolError(notReady: error)
        case (_, .failed(let error)): throw problem(error)
        case (_, .stopped(let change, let error)): throw problem(error).after(change)
        case (_, .refused(let error)): throw error
        case (.removed(let thing), .notFound): throw .notFound(thing)
        case (_, .notFound): throw .notFound("notification")
        case (.ready, .writable): return .echo([])
        case (.ping(let body), .writable): return .echo(body)
        case (.removed, .deleted): return .document(Answer.Document(status: 204))
        case (.publishedPart(let part, let isIDAssigned), .published(let record, let created)):
            return .published(
                record, part: part, created: created, isIDAssigned: isIDAssigned)
        case (.published(let isIDAssigned), .published(let record, let created)):
            return .record(
                record, status: created ? 201 : 200, location: isIDAssigned ? record.path : nil)
        case (.changed, .changed(let record)), (.changed, .unchanged(let record)),
            (.responded, .unchanged(let record)):
            return .record(record)
        case (.responded, .changed(let record)): return .record(record, status: 201)
        case (.held(let isDigestAssigned), .held(let held, let created)):
            return .document(
                status: created ? 201 : 200,
                location: isDigestAssigned ? "/v1/blobs/\(held.blob.digest)" : nil
            ) { HeldBlobDocument.append(held, to: &$0) }
        case (.categorySet, .categorySet(let category, let created)):
            return .category(category, status: created ? 201 : 200)
        case (.groupPatched, .long(let change)):
            return .numbers(("matched", change.matched), ("changed", change.changed))
        case (.ownerDeleted, .long(let change)): return .numbers(("deleted", change.changed))
        case (.promoted, .promoted):
            return replicationAnswer
        case (.batch, .lines(let lines)):
            return .document(mediaType: "application/x-ndjson") { body in
                for line in lines { append(line, to: &body) }
            }
        default: throw .outcomeMismatch
        }
    }

    private func append(_ line: BatchLine.Answered, to body: inout [UInt8]) {
        switch line.result {
        case .published(let record, let created):
            BatchLineDocument.append(record, created: created, to: &body)
        case .refused(let error): append(error, id: line.id, to: &body)
        case .failed(let error): append(problem(error), id: line.id, to: &body)
        default: append(.outcomeMismatch, id: line.id, to: &body)
        }
    }

    private func append(_ error: ProtocolError, id: String?, to body: inout [UInt8]) {
        counters.count(error.code)
        BatchLineDocument.append(error, id: id, to: &body)
    }
}
