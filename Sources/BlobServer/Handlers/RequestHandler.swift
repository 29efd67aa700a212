import BlobProtocol
import BlobStore
import Bytes
import Logging

/// Answers requests: a codec reads one, this asks the store, and a codec writes the answer into an
/// ``AnswerBatch``. It touches no socket.
///
/// Each worker has one, which its thread alone uses; no property of it that is not checked for
/// exclusive use is ever borrowed by a call that could reach it by another way (see ``Connection``).
/// `HTTP` and `Binary` have what a dialect says in its own way, payloads among it; all else is
/// answered once for both (``perform(_:_:in:)``).
final class RequestHandler {
    let store: BlobStore
    @exclusivity(unchecked) var limits: DaemonLimits
    let counters: WorkerCounters
    let requests: RequestCounters
    let observer: RequestObserver
    let http: HTTPCodec
    let statistics: StatisticsDocument
    let metrics: MetricsDocument
    private let answerMemory: AnswerMemory
    let links: LinkKeys
    let replica: ReplicaStatus
    private var errorLog: RateLimitedLog
    /// The time of this iteration, by which payloads expire.
    @exclusivity(unchecked) private(set) var now = Timestamp.now
    /// Whether the store is a follower's in this iteration.
    @exclusivity(unchecked) private(set) var isFollowing = false
    /// Set when the daemon is stopping: answers are then the last of their connections.
    @exclusivity(unchecked) var isStopping = false

    init(
        _ store: BlobStore, limits: DaemonLimits, observer: RequestObserver,
        statistics: StatisticsDocument, metrics: MetricsDocument, answerMemory: AnswerMemory,
        links: LinkKeys, replica: ReplicaStatus, log: Logger
    ) {
        self.links = links
        self.replica = replica
        self.store = store
        self.limits = limits
        self.observer = observer
        counters = observer.counters
        requests = counters.requests
        self.statistics = statistics
        self.metrics = metrics
        self.answerMemory = answerMemory
        http = HTTPCodec()
        errorLog = RateLimitedLog(log)
    }

    /// What becomes of the input after a request. What is seldom is kept elsewhere (`indirect`), so
    /// that what is not costs nothing to hand on.
    enum Step {
        /// The bytes are not a whole request yet.
        case needsInput
        /// The answer is in the batch.
        case answered
        /// The answer is in the batch; a body of so many bytes follows, which is thrown away.
        indirect case answeredThenSkip(UInt64)
        case answeredThenClose
        /// The four that follow have used nothing of the request: it is to be answered when the writer has committed.
        case retryAfterCommit
        /// When this follower has a batch, or a moment later.
        indirect case retryBehind(UInt64)
        /// When an evicted blob has been fetched.
        indirect case retryWithBlob(BlobReference)
        /// In a new snapshot.
        case retryInNewSnapshot
        indirect case receiveBody(Upload)
        /// The writer has to do something first.
        indirect case write(PendingChange.Operation, PendingReply)
        /// An owner's changes are asked for, and waited for if there are none.
        indirect case awaitChanges(FeedQuery, PendingReply.Form)
        /// An owner's changes are asked for as they come.
        indirect case subscribe(FeedQuery, PendingReply.Form)
        indirect case sendBackup(HTTPForm, RequestEntry)
    }

    /// Takes the time for the requests of this iteration; `moment` is the same by the monotonic clock.
    func beginIteration(_ moment: Instant) {
        now = .now
        isFollowing = replica.isFollowing
        observer.beginIteration(asOf: moment)
        http.setDate(seconds: now.milliseconds / 1_000)
    }

    /// Answers the request at the start of `bytes`, or finds what has to be done for it. `consumed` is set to the
    /// bytes that were used: the head, and a body where it was needed at once.
    @inline(__always)
    func next(
        _ bytes: RawSpan, of connection: inout Session, in snapshot: borrowing Snapshot,
        into batch: inout AnswerBatch, consumed: inout Int
    ) -> Step {
        consumed = 0
        // Only the first request has waited: the others may have come since.
        let wait = connection.wait
        connection.wait = .none
        guard bytes.byteCount > 0 else { return .needsInput }
        var dialect = connection.dialect ?? Dialect(firstByte: bytes.byte(0))
        // Devices are spoken to in HTTP alone.
        if connection.isDevice, dialect == .binary { dialect = .unknown }
        connection.dialect = dialect
        switch dialect {
        case .binary:
            return nextFrame(
                bytes, of: &connection, wait, in: snapshot, into: &batch, consumed: &consumed)
        case .http:
            return nextHTTP(
                bytes, of: &connection, wait, in: snapshot, into: &batch, consumed: &consumed)
        case .unknown:
            consumed = bytes.byteCount
            respond(
                .problem(
                    ProtocolError(
                        .malformed,
                        "the first byte, \(bytes.byte(0)), is not the first byte of a frame or an HTTP request"
                    )), .http(.last, observer.unknown(connection)), into: &batch)
            return .answeredThenClose
        }
    }

    /// What to do before a request is answered, because the snapshot may not have all that it reads; nil: answer it,
    /// as after a wait, since the snapshot was opened after that. The request's slices are of `text`.
    @inline(__always)
    func retry(
        _ request: Request, _ text: RawSpan, _ wait: Session.Wait, in snapshot: borrowing Snapshot
    ) -> Step? {
        if wait == .none {
            switch request.readiness(of: text, in: snapshot, of: store) {
            case .ready: break
            case .pendingCommit: return .retryAfterCommit
            case .staleSnapshot: return .retryInNewSnapshot
            }
        }
        return nil
    }

    // MARK: - Answers

    func respond(
        _ response: Answer, _ form: PendingReply.Form, hint: AnswerHint? = nil,
        into batch: inout AnswerBatch
    ) {
        if let code = response.code { counters.count(code) }
        switch form.dialect {
        case .binary(let frame): BinaryCodec.append(response, frame, into: &batch)
        case .http(let form): http.append(response, form, hint: hint, into: &batch)
        }
        observer.note(form.entry, status: response.status, response.code, batch)
    }

    /// Writes the answer, or hands on what has to be done first.
    func carryOut(
        _ step: ActionStep, _ framing: Upload.Framing, _ form: PendingReply.Form,
        expectsContinue: Bool = false, into batch: inout AnswerBatch
    ) throws(ProtocolError) -> Step {
        switch step {
        case .respond(let response):
            respond(response, form, into: &batch)
            return .answered
        case .receiveBody(let plan):
            if case .counted(let count) = framing, count > UInt64(plan.byteCountMax) {
                throw plan.tooLarge
            }
            return .receiveBody(
                Upload(plan, framing: framing, form: form, expectsContinue: expectsContinue))
        case .write(let operation, let reply):
            return .write(operation, PendingReply(reply: reply, form: form))
        case .awaitChanges(let query):
            return .awaitChanges(query, query.waitSeconds > 0 ? form.counted(as: .wait) : form)
        case .subscribe(let query): return .subscribe(query, form.counted(as: .watch))
        case .fetch:
            throw ProtocolError(.internalError, "the dialect answers a payload by itself")
        case .sendBackup:
            guard case .http(let answer) = form.dialect else { throw .notFound("resource") }
            return .sendBackup(answer, form.entry)
        }
    }

    func answer(_ reply: PendingReply, with result: ChangeResult, into batch: inout AnswerBatch) {
        // Said when the answer is written, not when the request came.
        let form = isStopping ? reply.form.last : reply.form
        http.sequence = result.isChange ? store.sequenceToken : nil
        defer { http.sequence = nil }
        do throws(ProtocolError) {
            respond(try answer(to: reply.reply, result), form, into: &batch)
        } catch {
            respond(.problem(error), form, into: &batch)
        }
    }

    func refuse(_ form: PendingReply.Form, _ error: ProtocolError, into batch: inout AnswerBatch) {
        respond(.problem(error), form, into: &batch)
    }

    // MARK: - Limits and errors

    /// Throws `unavailable` while clients that do not read hold all memory for answers. Asked before
    /// a document is composed, or anything else that is held in memory until it is read.
    func requireAnswerMemory() throws(ProtocolError) {
        guard answerMemory.isUsedUp else { return }
        throw ProtocolError(
            .unavailable, "the memory for unread answers is used up; try again",
            limit: limits.answerMemoryByteCountMax)
    }

    /// Throws why this daemon takes no changes now: it follows another one, or its bucket is too far behind.
    func requireWritable() throws(ProtocolError) {
        if let refusal = replica.refusal { throw refusal }
    }

    var pageByteCountMax: Int { answerMemory.pageByteCountMax }

    /// What a client is told about an error of the store, which is logged when it is the store's
    /// own failure.
    func problem(_ error: StoreError) -> ProtocolError {
        errorLog.note(error)
        return ProtocolError(error)
    }

    func asked<Value: ~Copyable>(
        _ question: @autoclosure () throws(StoreError) -> Value
    ) throws(ProtocolError) -> Value {
        do throws(StoreError) {
            return try question()
        } catch {
            throw problem(error)
        }
    }
}
