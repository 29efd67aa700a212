import BlobProtocol
import BlobStore

/// What is to be done for a request.
enum ActionStep {
    case respond(Answer)
    /// A payload's bytes, in the form that the request's head asks for.
    case fetch(id: String, part: String)
    case receiveBody(BodyPlan)
    case write(PendingChange.Operation, Reply)
    case awaitChanges(FeedQuery)
    case subscribe(FeedQuery)
    case sendBackup

    /// Whether it may change something.
    var isChange: Bool {
        switch self {
        case .write, .receiveBody: true
        case .respond, .fetch, .awaitChanges, .subscribe, .sendBackup: false
        }
    }
}

/// An answer, but a payload's, in no dialect yet.
enum Answer {
    case document(Document)
    case published(Record, part: String, created: Bool, isIDAssigned: Bool)
    /// All is well. A ping's body comes back.
    case echo([UInt8])
    case problem(ProtocolError)

    /// HTTP's number, in both dialects.
    var status: UInt16 {
        switch self {
        case .document(let document): document.status
        case .published(_, _, let created, _): created ? 201 : 200
        case .echo: 200
        case .problem(let error): error.status
        }
    }

    var code: ErrorCode? {
        if case .problem(let error) = self { error.code } else { nil }
    }

    /// A body with what is said about it.
    struct Document {
        /// 204 has no body.
        var status: UInt16 = 200
        var mediaType: StaticString = "application/json"
        /// The notification's or the category's, for an entity tag.
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

    static func numbers(_ numbers: (name: String, value: Int)...) -> Answer {
        .document {
            $0.object { for number in numbers { $0.add(number.name, number.value) } }
        }
    }
}

/// How to answer when the writer is done.
enum Reply: Sendable {
    case publishedPart(String, isIDAssigned: Bool)
    case published(isIDAssigned: Bool)
    case changed
    case responded
    /// The name of what was to be removed, for the case that there is none.
    case removed(StaticString)
    case batch
    case held(isDigestAssigned: Bool)
    case categorySet
    case groupPatched
    case ownerDeleted
    case promoted
    /// A ping's body comes back.
    case ping([UInt8])
    /// Of a health check.
    case ready
}

/// How to answer a request whose outcome is not known yet: to what, and in which dialect.
struct PendingReply: Sendable {
    /// The dialect with what its answer repeats, and what the request is counted and logged as.
    struct Form: Sendable {
        enum Dialect: Sendable {
            case binary(RequestFrame)
            case http(HTTPForm)
        }

        var dialect: Dialect
        var entry: RequestEntry
        /// What a change waits for before it is acknowledged.
        var acknowledgement = Acknowledgement.local

        static func binary(_ frame: RequestFrame, _ entry: RequestEntry) -> Form {
            Form(dialect: .binary(frame), entry: entry)
        }

        static func http(_ form: HTTPForm, _ entry: RequestEntry) -> Form {
            Form(dialect: .http(form), entry: entry)
        }

        /// As the last answer of a connection, which HTTP says.
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
}

/// What the answer to an HTTP request depends on besides its outcome.
struct HTTPForm: Sendable {
    /// Whether another request may follow on the connection.
    var keepAlive: Bool
    var isHTTP10: Bool
    var isHead: Bool

    /// That of a connection's last answer, to a request that could not be read.
    static let last = HTTPForm(keepAlive: false, isHTTP10: false, isHead: false)
}
