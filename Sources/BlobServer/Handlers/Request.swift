import BlobProtocol
import BlobStore

/// What a request of either dialect asks for: numbers, and slices of its text. Names in it are checked.
enum Request {
    /// A payload's bytes. The head determines the form, and each dialect answers it separately.
    case fetch(PayloadKey)
    /// A call of the table. An object, so that a fetch stays small.
    case call(EndpointRequest)

    var operation: Operation {
        switch self {
        case .fetch: .fetch
        case .call(let call): call.endpoint.operation
        }
    }

    /// Whether a snapshot contains what the request reads. Its slices refer to `text`.
    @inline(__always)
    func readiness(
        of text: RawSpan, in snapshot: borrowing Snapshot, of store: BlobStore
    ) -> Readiness {
        switch self {
        case .fetch(.part(let id, _)):
            store.readiness(of: .notification, id.of(text), in: snapshot)
        case .fetch(.digest(let digest)): store.readiness(of: digest, in: snapshot)
        case .call(let call):
            store.readiness(of: call.endpoint.reads, call.name.utf8.span.bytes, in: snapshot)
        }
    }
}

/// Trivial, so handing it on changes no reference count.
enum PayloadKey {
    /// By notification; an empty part means `payload`.
    case part(id: Slice, part: Slice)
    case digest(Digest)
}

/// A request of one dialect, from its head to its log line: the context that answering needs.
protocol IncomingRequest: ~Escapable {
    var wait: Session.Wait { get }
    var dialect: PendingReply.Form.Dialect { get }
    var framing: Upload.Framing { get }
    /// What happens to the input after an answer that did not need the body.
    var stepAfterAnswer: RequestHandler.Step { get }

    /// The user agent is only in the access log.
    func logged(_ asked: Request?, withAgent: Bool) -> LoggedRequest

    /// Appends the answer with a payload, and returns its status: 200, 206 or 304.
    /// - Parameter isByDigest: whether the request names the bytes, which therefore never change.
    func appendPayload(
        _ payload: Payload, isByDigest: Bool, _ handler: RequestHandler,
        in snapshot: borrowing Snapshot, into batch: inout AnswerBatch
    ) throws(FetchFailure) -> UInt16

    /// Adapts a handler's decision to the dialect.
    func accept(_ step: ActionStep) throws(ProtocolError) -> ActionStep

    /// What the request wants a change to wait for; nil: not given.
    func acknowledgement() throws(ProtocolError) -> Acknowledgement?

    func refuse(
        _ error: ProtocolError, _ entry: RequestEntry, by handler: RequestHandler,
        into batch: inout AnswerBatch
    ) -> RequestHandler.Step
}

/// What a request reads in a snapshot of the store.
enum Reads: Sendable {
    /// Nothing: a change reads in its transaction, and the counters include what is not committed.
    case nothing
    /// The notification that it names.
    case notification
    /// The notifications and changes of the owner that it names.
    case owner
    /// The blob that it names. Such calls are always fetches by digest.
    case blob
    case everything
}

/// Whether a snapshot contains everything that was acknowledged before a request arrived.
enum Readiness {
    case ready
    /// There may be changes that are only in the log.
    case pendingCommit
    /// There was a commit after the snapshot was opened.
    case staleSnapshot
}

extension BlobStore {
    /// The snapshot is checked last: a change committed before the filter returned false is in the snapshot, or the
    /// snapshot is stale.
    @inline(__always)
    func readiness(
        of reads: Reads, _ name: RawSpan, in snapshot: borrowing Snapshot
    ) -> Readiness {
        let isPending: Bool
        switch reads {
        case .nothing: return .ready
        case .notification: isPending = pendingKeys.mayContain(name)
        case .owner: isPending = pendingKeys.mayContain(owner: name)
        case .blob, .everything: isPending = !pendingKeys.isEmpty
        }
        return readiness(isPending: isPending, in: snapshot)
    }

    @inline(__always)
    func readiness(of blob: Digest, in snapshot: borrowing Snapshot) -> Readiness {
        readiness(isPending: pendingKeys.mayContain(blob), in: snapshot)
    }

    @inline(__always)
    private func readiness(isPending: Bool, in snapshot: borrowing Snapshot) -> Readiness {
        if isPending { return .pendingCommit }
        return snapshot.isCurrent ? .ready : .staleSnapshot
    }
}

struct Session {
    /// Whether it uses the device socket, which only serves devices and `/livez`.
    var isDevice = false
    var userID: UInt32 = 0
    /// Determined by the first byte; nil before that.
    var dialect: Dialect?
    var isGreeted = false
    /// The state of the next request's wait for the writer, or for another thread.
    var wait = Wait.none
    /// How far an incomplete HTTP head has been searched for its end.
    var headScanner = HeadScanner()

    /// The dialect, which the first byte of the connection determines.
    @inline(__always)
    mutating func dialect(startingWith byte: UInt8) -> Dialect {
        var dialect = self.dialect ?? Dialect(firstByte: byte)
        // The device socket only speaks HTTP.
        if isDevice, dialect == .binary { dialect = .unknown }
        self.dialect = dialect
        return dialect
    }

    enum Wait {
        case none
        /// Every snapshot from now on contains what the request reads.
        case done
        /// The daemon stops. An answer could be older than earlier ones.
        case inVain
    }
}
