import BlobProtocol
import BlobStore

/// What a request of either dialect asks for: numbers, and slices of the text it was read from. Names in it are checked.
enum Request {
    /// A payload's bytes. In which form is in the head, and each dialect answers it by itself.
    case fetch(PayloadKey)
    /// A call of the table: an object, so that a fetch is short.
    case call(EndpointRequest)

    var operation: Operation {
        switch self {
        case .fetch: .fetch
        case .call(let call): call.endpoint.operation
        }
    }

    /// Whether a snapshot has what it reads. Its slices are of `text`.
    @inline(__always)
    func readiness(
        of text: RawSpan, in snapshot: borrowing Snapshot, of store: BlobStore
    ) -> Readiness {
        switch self {
        case .fetch(.part(let id, _)):
            store.readiness(of: .notification, id.of(text), in: snapshot)
        case .fetch(.digest(let digest)):
            store.readiness(of: .blob(digest), RawSpan(), in: snapshot)
        case .call(let call):
            store.readiness(of: call.endpoint.reads, call.name.utf8.span.bytes, in: snapshot)
        }
    }
}

/// Plain bits: nothing is counted when it is handed on.
enum PayloadKey {
    /// By its notification; an empty part is the one called `payload`.
    case part(id: Slice, part: Slice)
    case digest(Digest)
}

/// A request from its head to its log line, as its dialect has it: the context that answering it needs.
protocol IncomingRequest: ~Escapable {
    var wait: Session.Wait { get }
    var dialect: PendingReply.Form.Dialect { get }
    var framing: Upload.Framing { get }
    /// What becomes of the input after an answer that did not need the body.
    var stepAfterAnswer: RequestHandler.Step { get }

    func logged(_ asked: Request?) -> LoggedRequest

    /// Appends a payload's answer, and returns its status: 200, 206 or 304.
    func appendPayload(
        _ payload: Payload, _ handler: RequestHandler, in snapshot: borrowing Snapshot,
        into batch: inout AnswerBatch
    ) throws(FetchFailure) -> UInt16

    /// What a handler decided, as the dialect carries it out.
    func accept(_ step: ActionStep) throws(ProtocolError) -> ActionStep

    /// What it says a change shall wait for; nil: nothing.
    func acknowledgement() throws(ProtocolError) -> Acknowledgement?

    func refuse(
        _ error: ProtocolError, _ entry: RequestEntry, by handler: RequestHandler,
        into batch: inout AnswerBatch
    ) -> RequestHandler.Step
}

/// What a request reads of the store, besides the name of the notification or the owner.
enum Reads: Sendable {
    case nothing
    case notification
    case owner
    case blob(Digest)
    case everything
}

/// Whether a snapshot has all that was acknowledged before a request came.
enum Readiness {
    case ready
    /// What is read may have changes in the log alone.
    case pendingCommit
    /// There was a commit since the snapshot was opened.
    case staleSnapshot
}

extension BlobStore {
    /// The snapshot is asked last: what was committed before the filter said "no" is in it, or it says that it is too
    /// old.
    @inline(__always)
    func readiness(
        of reads: Reads, _ name: RawSpan, in snapshot: borrowing Snapshot
    ) -> Readiness {
        let isPending: Bool
        switch reads {
        case .nothing: return .ready
        case .notification: isPending = pendingKeys.mayContain(name)
        case .owner: isPending = pendingKeys.mayContain(owner: name)
        case .blob(let digest): isPending = pendingKeys.mayContain(digest)
        case .everything: isPending = !pendingKeys.isEmpty
        }
        if isPending { return .pendingCommit }
        return snapshot.isCurrent ? .ready : .staleSnapshot
    }
}

struct Session {
    /// Whether it came by the device socket, which answers links only.
    var isDevice = false
    var userID: UInt32 = 0
    /// Told by the first byte; nil before that.
    var dialect: Dialect?
    var isGreeted = false
    /// What has become of the next request's wait for the writer, or for another thread.
    var wait = Wait.none
    /// How far the end of an HTTP head has been looked for, in input that is not a whole head yet.
    var headScanner = HeadScanner()

    enum Wait {
        case none
        /// Every snapshot from now on has what the request reads.
        case done
        /// The daemon stops. An answer now could be older than earlier ones.
        case inVain
    }
}
