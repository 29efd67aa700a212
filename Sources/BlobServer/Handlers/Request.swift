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

    /// Whether a snapshot will do for an answer.
    @inline(__always)
    func readiness(in snapshot: borrowing Snapshot, of store: BlobStore) -> Readiness {
        if case .call(let call) = self, call.endpoint.rules.contains(.onCommitted),
            !store.pendingCounts.isEmpty
        {
            return .pendingCommit
        }
        return snapshot.isCurrent ? .ready : .staleSnapshot
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

/// Whether a snapshot contains everything that was acknowledged before a request arrived.
enum Readiness {
    case ready
    /// A backup copies what is committed.
    case pendingCommit
    /// Something was acknowledged after the snapshot was opened.
    case staleSnapshot
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
