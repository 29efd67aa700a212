import BlobProtocol
import BlobStore
import Bytes

enum ActionStep {
    case respond(Answer)
    case receiveBody(BodyPlan)
    case write(PendingChange.Operation, Reply)
    indirect case awaitChanges(FeedQuery)
    indirect case subscribe(FeedQuery)
    case sendBackup
}

/// An answer other than a payload, independent of the dialect.
enum Answer {
    case document(Document)
    case published(Record, part: String, created: Bool, isIDAssigned: Bool)
    case problem(ProtocolError)

    /// The HTTP status, in both dialects.
    var status: UInt16 {
        switch self {
        case .document(let document): document.status
        case .published(_, _, let created, _): created ? 201 : 200
        case .problem(let error): error.status
        }
    }

    var code: ErrorCode? {
        if case .problem(let error) = self { error.code } else { nil }
    }

    struct Document {
        /// 204 has no body.
        var status: UInt16 = 200
        var mediaType: StaticString = "application/json"
        /// The revision of the notification or the category, for an entity tag.
        var revision: UInt64?
        var location: String?
        var body: [UInt8] = []
    }

    static func document(
        status: UInt16 = 200, mediaType: StaticString = "application/json",
        revision: UInt64? = nil, location: String? = nil, _ append: (inout [UInt8]) -> Void
    ) -> Answer {
        var document = Document(
            status: status, mediaType: mediaType, revision: revision, location: location)
        document.body.reserveCapacity(RecordDocument.usualByteCount)
        append(&document.body)
        return .document(document)
    }

    static func record(
        _ record: Record, status: UInt16 = 200, location: String? = nil
    ) -> Answer {
        .document(status: status, revision: record.revision, location: location) {
            RecordDocument.append(record, to: &$0)
        }
    }

    static func category(_ category: Category, status: UInt16 = 200) -> Answer {
        .document(
            status: status, revision: category.revision > 0 ? category.revision : nil
        ) { CategoryDocument.append(category, to: &$0) }
    }

    static func text(_ body: [UInt8]) -> Answer {
        .document(Document(mediaType: "text/plain", body: body))
    }

    static func numbers(_ numbers: (name: String, value: Int)...) -> Answer {
        .document {
            $0.object { for number in numbers { $0.add(number.name, number.value) } }
        }
    }
}

/// What the answer to a change contains besides its outcome.
enum Reply: Sendable {
    case nothing
    /// For the payload of a part that was stored.
    case part(String, isIDAssigned: Bool)
    /// The location, if the store chose the name.
    case location(isAssigned: Bool)
    /// The name of what is removed, for the error if it does not exist.
    case removed(StaticString)
    /// Whether the notification has a response now.
    case responded
    /// The number of deleted notifications, instead of changed ones.
    case deletedCount
    case ping([UInt8])
    case ready
}

/// How to answer a request whose outcome is not known yet. An object, so that a connection's phase stays small.
final class PendingReply: Sendable {
    /// The dialect, what the answer repeats of the request, and what the request is counted as.
    struct Form: Sendable {
        enum Dialect: Sendable {
            case binary(RequestFrame)
            case http(HTTPForm)
        }

        var dialect: Dialect
        var entry: RequestEntry
        var acknowledgement = Acknowledgement.local

        static func binary(_ frame: RequestFrame, _ entry: RequestEntry) -> Form {
            Form(dialect: .binary(frame), entry: entry)
        }

        static func http(_ form: HTTPForm, _ entry: RequestEntry) -> Form {
            Form(dialect: .http(form), entry: entry)
        }

        var last: Form {
            guard case .http(var form) = dialect else { return self }
            form.keepAlive = false
            var last = self
            last.dialect = .http(form)
            return last
        }

        /// For a request that turns out to be another operation.
        func counted(as operation: Operation) -> Form {
            var form = self
            form.entry = RequestEntry(
                operation: operation, startedAt: entry.startedAt, request: entry.request)
            return form
        }
    }

    let reply: Reply
    let form: Form

    init(reply: Reply, form: Form) {
        self.reply = reply
        self.form = form
    }
}

/// What the answer to an HTTP request depends on besides its outcome.
struct HTTPForm: Sendable {
    /// Whether another request may follow on the connection.
    var keepAlive: Bool
    var isHTTP10: Bool
    var isHead: Bool
    /// Whether the client waits for a 100 before it sends the body.
    var expectsContinue = false

    /// The form of an answer whose length is not known when it begins. In HTTP/1.0 only the end of the connection ends
    /// it. A HEAD has no body to be ended.
    var ofUnknownLength: HTTPForm {
        var form = self
        if isHTTP10, !isHead { form.keepAlive = false }
        return form
    }

    /// For the last answer on a connection, to a request that could not be read.
    static let last = HTTPForm(keepAlive: false, isHTTP10: false, isHead: false)
}

// Everything except payload bytes, answered by the same code in both dialects.

extension RequestHandler {
    /// Answers what the snapshot can answer, and returns what else is to be done.
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

    /// A notification that exists for the request. For a device, those outside of its token's scope do not exist.
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

    func answer(to reply: Reply, _ result: ChangeResult) throws(ProtocolError) -> Answer {
        switch result {
        case .failed(let error):
            if case .ready = reply { throw ProtocolError(notReady: error) }
            throw problem(error)
        case .stopped(let change, let error): throw problem(error).after(change)
        case .refused(let error): throw error
        case .writable:
            if case .ping(let body) = reply { return .text(body) }
            return .text(Array("ok\n".utf8))
        case .long(let change):
            if change.damaged > 0 { throw ProtocolError(leftBehind: change) }
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
