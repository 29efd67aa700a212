import BlobProtocol
import BlobStore
import Bytes

// What is asked for besides payloads' bytes, answered once for both dialects.

extension RequestHandler {
    /// Answers what can be answered in the snapshot, and says what else is to be done.
    ///
    /// - Parameter text: what the action's slices are of.
    func perform(
        _ action: Action, _ text: RawSpan, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> ActionStep {
        switch action {
        case .live: return .respond(.echo([]))
        case .check(let reply):
            if case .ready = reply, isStopping { throw .stopping }
            if case .ready = reply, let refusal = replica.refusal {
                throw ProtocolError(notReady: refusal)
            }
            return .write(.checkWritable, reply)
        case .statistics:
            let body = try asked { () throws(StoreError) in try statistics.compose() }
            return .respond(.document(Response.Document(body: body)))
        case .openAPI:
            try requireAnswerMemory()
            return .respond(.document { OpenAPIDocument.append(limits, to: &$0) })
        case .metrics:
            let body = try asked { () throws(StoreError) in try metrics.compose() }
            return .respond(
                .document(Response.Document(mediaType: MetricsText.mediaType, body: body)))
        case .backup: return .sendBackup
        case .list(let after, let limit):
            try requireAnswerMemory()
            let page = try asked { () throws(StoreError) in
                try snapshot.records(
                    after: after.span.bytes, limit: limit, byteCountMax: pageByteCountMax, asOf: now
                )
            }
            return .respond(.document { PageDocument.append(page, to: &$0) })
        case .publish(let draft, let coding, let byteCount):
            return try publish(draft, coding, byteCount: byteCount, in: snapshot)
        case .resource(let request): return try perform(request, in: snapshot)
        case .watch(var query, let cursor):
            query.start = try feedStart(cursor.of(text), of: query.owner)
            return .subscribe(query)
        }
    }

    /// A notification's record.
    func record(
        _ id: RawSpan, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> Record {
        let lookup = try asked { () throws(StoreError) in try snapshot.record(for: id, asOf: now) }
        switch lookup {
        case .missing: throw .notFound("notification")
        case .expired(let moment): throw .expired("notification", at: moment)
        case .found(let record): return record
        }
    }

    // MARK: - Results

    /// The answer when the writer is done.
    func response(to reply: Reply, _ result: ChangeResult) throws(ProtocolError) -> Response {
        switch (reply, result) {
        case (.ready, .failed(let error)): throw ProtocolError(notReady: error)
        case (_, .failed(let error)): throw problem(error)
        case (_, .stopped(let change, let error)): throw problem(error).after(change)
        case (_, .refused(let error)): throw error
        case (.removed(let thing), .notFound): throw .notFound(thing)
        case (_, .notFound): throw .notFound("notification")
        case (.ready, .writable): return .echo([])
        case (.ping(let body), .writable): return .echo(body)
        case (.removed, .deleted): return .document(Response.Document(status: 204))
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
            return .document(
                Response.Document(body: ReplicationDocument(store, replica).numbers.finished()))
        case (.batch, .lines(let lines)):
            return .document(mediaType: "application/x-ndjson") { body in
                for line in lines { append(line, to: &body) }
            }
        default: throw .outcomeMismatch
        }
    }

    /// Appends a line of a batch's answer: what became of one document.
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
