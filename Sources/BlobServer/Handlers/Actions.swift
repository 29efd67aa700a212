import BlobProtocol
import BlobStore
import Bytes

// What is asked for besides payloads' bytes, answered once for both dialects.

extension RequestHandler {
    /// Answers what can be answered in the snapshot, and says what else is to be done.
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

    func record(
        _ id: RawSpan, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> Record {
        let lookup = try asked(try snapshot.record(for: id, asOf: now))
        switch lookup {
        case .missing: throw .notFound("notification")
        case .expired(let moment): throw .expired("notification", at: moment)
        case .found(let record): return record
        }
    }

    // MARK: - Results

    func answer(to reply: Reply, _ result: ChangeResult) throws(ProtocolError) -> Answer {
        switch result {
        case .failed(let error):
            if case .ready = reply { throw ProtocolError(notReady: error) }
            throw problem(error)
        case .stopped(let change, let error): throw problem(error).after(change)
        case .refused(let error): throw error
        case .writable:
            if case .ping(let body) = reply { return .echo(body) }
            return .echo([])
        case .long(let change):
            if case .deletedCount = reply { return .numbers(("deleted", change.changed)) }
            return .numbers(("matched", change.matched), ("changed", change.changed))
        case .promoted: return replicationAnswer
        case .lines(let lines):
            return .document(mediaType: "application/x-ndjson") { body in
                for line in lines { append(line, to: &body) }
            }
        case .applied(let outcome): return try answer(to: reply, outcome)
        case .committed: throw .outcomeMismatch
        }
    }

    private func answer(to reply: Reply, _ outcome: Outcome) throws(ProtocolError) -> Answer {
        var isAssigned = false
        if case .location(true) = reply { isAssigned = true }
        switch outcome {
        case .published(let record, let created):
            if case .part(let part, let isIDAssigned) = reply {
                return .published(
                    record, part: part, created: created, isIDAssigned: isIDAssigned)
            }
            return .record(
                record, status: created ? 201 : 200, location: isAssigned ? record.path : nil)
        case .changed(let record):
            if case .responded = reply { return .record(record, status: 201) }
            return .record(record)
        case .unchanged(let record): return .record(record)
        case .held(let held, let created):
            return .document(
                status: created ? 201 : 200,
                location: isAssigned ? "/v1/blobs/\(held.blob.digest)" : nil
            ) { HeldBlobDocument.append(held, to: &$0) }
        case .categorySet(let category, let created):
            return .category(category, status: created ? 201 : 200)
        case .deleted: return .document(Answer.Document(status: 204))
        case .notFound:
            if case .removed(let thing) = reply { throw .notFound(thing) }
            throw .notFound("notification")
        case .refused(let error): throw problem(error)
        }
    }

    private func append(_ line: BatchLine.Answered, to body: inout [UInt8]) {
        switch line.result {
        case .applied(.published(let record, let created)):
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
