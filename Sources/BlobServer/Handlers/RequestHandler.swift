import BlobProtocol
import BlobStore
import Logging

/// Answers requests: it looks at what a parser found, asks the store, and fills an ``AnswerBatch``.
/// It touches no socket.
///
/// Each worker has one, which its thread alone uses; no property of it that is not checked for
/// exclusive use is ever borrowed by a call that could reach it by another way (see ``Connection``).
/// What both dialects share is here; `RequestHandler+Binary.swift` and
/// `RequestHandler+HTTP.swift` turn it into bytes.
final class RequestHandler {
    let store: BlobStore
    let limits: DaemonLimits
    let counters: WorkerCounters
    private let statistics: StatisticsDocument
    private let answerMemory: AnswerMemory
    private var errorLog: RateLimitedLog
    /// The time of this iteration, by which payloads expire.
    @exclusivity(unchecked) private(set) var now = Timestamp.now
    /// The `Date` line of this second.
    @exclusivity(unchecked) private(set) var dateLine: [UInt8] = []
    /// The heads of payloads of this second.
    @exclusivity(unchecked) private(set) var payloadHead = PayloadHead()
    private var dateSecond: Int64 = -1
    /// A body whose length must be known before it is written. Reused.
    @exclusivity(unchecked) var document: [UInt8] = []
    /// Set when the daemon is stopping: answers are then the last of their connections.
    @exclusivity(unchecked) var isStopping = false
    /// Whether the next request has waited for the writer already, and its snapshot was opened after
    /// that.
    @exclusivity(unchecked) var hasWaited = false
    /// Why the request that is being looked at cannot be answered in its snapshot.
    @exclusivity(unchecked) private(set) var delay: Delay?

    /// Why a request has to be looked at again.
    enum Delay {
        /// What it asks for may have changed in the log alone.
        case pendingCommit
        /// There has been a commit since the snapshot was opened.
        case stale
    }

    init(
        _ store: BlobStore, limits: DaemonLimits, counters: WorkerCounters,
        statistics: StatisticsDocument, answerMemory: AnswerMemory, log: Logger
    ) {
        self.store = store
        self.limits = limits
        self.counters = counters
        self.statistics = statistics
        self.answerMemory = answerMemory
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
        /// The answer is in the batch, and it is the connection's last.
        case answeredThenClose
        /// A payload follows.
        indirect case upload(Upload)
        /// It is to be looked at again, in another snapshot: nothing of it was used.
        case again(Delay)
        /// The writer has to do something first.
        indirect case change(PendingChange.Operation, PendingReply)
        /// An owner's changes are asked for, and waited for if there are none.
        indirect case wait(FeedQuery, PendingReply.Form)
        /// An owner's changes are asked for as they come.
        indirect case stream(FeedQuery, PendingReply.Form)
    }

    /// Gives large memory back.
    func releaseMemory() {
        if document.capacity > DaemonLimits.keptBufferByteCountMax { document = [] }
    }

    /// Throws `unavailable` while clients that do not read hold all memory for answers. Asked before
    /// a document is composed, or anything else that is held in memory until it is read.
    func requireAnswerMemory() throws(ProtocolError) {
        guard answerMemory.isUsedUp else { return }
        throw ProtocolError(
            .unavailable, "the memory for unread answers is used up; try again",
            limit: limits.answerMemoryByteCountMax)
    }

    /// So many bytes of records are in a page now.
    var pageByteCountMax: Int { answerMemory.pageByteCountMax }

    /// Takes the time for the requests of this iteration.
    func beginIteration() {
        now = .now
        let second = now.milliseconds / 1_000
        guard second != dateSecond else { return }
        dateSecond = second
        dateLine.removeAll(keepingCapacity: true)
        HTTPResponseHead.date(seconds: second, into: &dateLine)
        payloadHead.setDate(seconds: second)
    }

    /// Answers the request at the start of `bytes`, or finds what has to be done for it.
    ///
    /// - Parameter consumed: is set to the bytes that were used: the head, and a body where it was
    ///   needed at once.
    func next(
        _ bytes: RawSpan, of connection: inout Session, in snapshot: borrowing Snapshot,
        into batch: inout AnswerBatch, consumed: inout Int
    ) -> Step {
        consumed = 0
        delay = nil
        guard bytes.byteCount > 0 else { return .needsInput }
        let dialect = connection.dialect ?? Dialect(firstByte: bytes.byte(0))
        connection.dialect = dialect
        switch dialect {
        case .binary:
            return nextFrame(
                bytes, of: &connection, in: snapshot, into: &batch, consumed: &consumed)
        case .http:
            return nextHTTP(
                bytes, of: &connection, in: snapshot, into: &batch, consumed: &consumed)
        case .unknown:
            consumed = bytes.byteCount
            counters.requests.add()
            appendProblem(
                ProtocolError(
                    .malformed,
                    "the first byte, \(bytes.byte(0)), is not the first byte of a frame or an HTTP request"
                ),
                HTTPForm(keepAlive: false, isHTTP10: false, isHead: false), into: &batch)
            return .answeredThenClose
        }
    }

    /// Answers a request whose outcome is now known.
    func answer(_ reply: PendingReply, with result: ChangeResult, into batch: inout AnswerBatch) {
        switch reply.form {
        case .binary(let frame): answerBinary(frame, reply.request, with: result, into: &batch)
        case .http(var form):
            // Said when the answer is written, not when the request came.
            if isStopping { form.keepAlive = false }
            answerHTTP(form, reply.request, with: result, into: &batch)
        }
    }

    /// A body that a resource takes. Throws `payload_too_large` when it is known to be longer than
    /// that is, before a byte of it is read.
    func upload(
        _ plan: BodyPlan, _ framing: Upload.Framing, _ form: PendingReply.Form,
        expectsContinue: Bool = false
    ) throws(ProtocolError) -> Upload {
        if case .counted(let count) = framing, count > UInt64(plan.byteCountMax) {
            throw Upload.tooLarge(limit: plan.byteCountMax)
        }
        return Upload(
            .resource(plan), framing: framing, coding: plan.coding,
            byteCountMax: plan.byteCountMax,
            reply: PendingReply(request: .resource(plan.reply), form: form),
            expectsContinue: expectsContinue)
    }

    /// Answers a request that was found wrong after its head.
    func refuse(_ reply: PendingReply, _ error: ProtocolError, into batch: inout AnswerBatch) {
        refuse(reply.form, error, into: &batch)
    }

    /// The same, where nothing else about it matters.
    func refuse(
        _ form: PendingReply.Form, _ error: ProtocolError, into batch: inout AnswerBatch
    ) {
        switch form {
        case .binary(let frame): appendProblem(error, frame, into: &batch)
        case .http(let form): appendProblem(error, form, into: &batch)
        }
    }

    // What was acknowledged before a request came is in its answer. The writer commits a little
    // later than it acknowledges; so whoever asks for what may not be committed waits for that.

    /// Throws where what is asked for may have changes that the snapshot has not; what is thrown is
    /// never sent (``delay``).
    ///
    /// The snapshot is asked last: what was committed before the first question was answered "no"
    /// is in it, or it says that it is too old.
    ///
    /// - Parameter isPending: what the store's `pendingKeys` says of it.
    @inline(__always)
    func requireCommitted(
        unless isPending: Bool, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) {
        try requireCommitted(unless: isPending)
        if !snapshot.isCurrent { try wait(for: .stale) }
    }

    /// The same for what is read in a snapshot that is yet to be opened.
    @inline(__always)
    func requireCommitted(unless isPending: Bool) throws(ProtocolError) {
        if isPending { try wait(for: .pendingCommit) }
    }

    @inline(never)
    private func wait(for delay: Delay) throws(ProtocolError) {
        guard !hasWaited else { return }
        self.delay = delay
        throw ProtocolError(.unavailable, "a change is being committed; try again")
    }

    // What the store says, and its errors in the client's words.

    /// What a client is told about an error of the store, which is logged when it is the store's
    /// own failure.
    func problem(_ error: StoreError) -> ProtocolError {
        errorLog.note(error)
        return ProtocolError(error)
    }

    /// A payload by its notification's id; an empty part is the one called `payload`.
    @inline(__always)
    @_lifetime(borrow snapshot)
    func payload(
        _ id: RawSpan, _ part: RawSpan, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> PayloadLookup {
        try requireCommitted(unless: store.pendingKeys.mayContain(id), in: snapshot)
        do throws(StoreError) {
            return try snapshot.payload(for: id, part: part, asOf: now)
        } catch {
            throw problem(error)
        }
    }

    /// A blob by its digest.
    @_lifetime(borrow snapshot)
    func blob(
        _ digest: Digest, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> PayloadLookup {
        try requireCommitted(unless: store.pendingKeys.mayContain(digest), in: snapshot)
        do throws(StoreError) {
            return try snapshot.blob(digest, asOf: now)
        } catch {
            throw problem(error)
        }
    }

    /// Looks up the first bytes, so that a damaged chunk is met before the head is written.
    @inline(__always)
    func map(
        _ body: BatchedAnswer.Body, of payload: Payload, into batch: inout AnswerBatch,
        in snapshot: borrowing Snapshot
    ) throws(ProtocolError) {
        var isLong = false
        do throws(StoreError) {
            switch body {
            case .none: break
            case .stored(let range) where range.byteCount == range.blob.storedByteCount:
                try batch.map(payload)
            case .stored(let range): try batch.map(range, in: snapshot)
            case .inflated(let blob, let from, let upTo):
                isLong = upTo - from > Inflater.pieceByteCount
                _ = try snapshot.storedBytes(of: blob, from: 0)
            }
        } catch {
            throw problem(error)
        }
        // Inflating takes memory until the last byte is sent.
        if isLong { try requireAnswerMemory() }
    }

    /// What a question to the store answers.
    func asked<Answer>(_ question: () throws(StoreError) -> Answer) throws(ProtocolError) -> Answer
    {
        do throws(StoreError) {
            return try question()
        } catch {
            throw problem(error)
        }
    }

    /// A notification's record.
    func record(
        _ id: RawSpan, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> Record {
        try requireCommitted(unless: store.pendingKeys.mayContain(id), in: snapshot)
        let lookup: RecordLookup
        do throws(StoreError) {
            lookup = try snapshot.record(for: id, asOf: now)
        } catch {
            throw problem(error)
        }
        switch lookup {
        case .missing: throw .notFound("notification")
        case .expired(let moment): throw .expired("notification", at: moment)
        case .found(let record): return record
        }
    }

    /// A notification's record as JSON, in ``document``.
    func composeRecord(_ id: RawSpan, in snapshot: borrowing Snapshot) throws(ProtocolError) {
        try requireAnswerMemory()
        let record = try record(id, in: snapshot)
        document.removeAll(keepingCapacity: true)
        RecordDocument.append(record, to: &document)
    }

    /// A page of records as JSON, in ``document``.
    func composePage(
        after id: RawSpan, limit: Int, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) {
        try requireAnswerMemory()
        try requireCommitted(unless: !store.pendingKeys.isEmpty, in: snapshot)
        do throws(StoreError) {
            let page = try snapshot.records(
                after: id, limit: limit, byteCountMax: pageByteCountMax, asOf: now)
            document.removeAll(keepingCapacity: true)
            PageDocument.append(page, to: &document)
        } catch {
            throw problem(error)
        }
    }

    /// The counters as JSON, in ``document``.
    func composeStatistics() throws(ProtocolError) {
        do throws(StoreError) {
            document = try statistics.compose()
        } catch {
            throw problem(error)
        }
    }

    /// When what a publish stores ends, checked against the limits and the time. Where it is not said,
    /// what is there keeps its end.
    func expiry(
        ttlSeconds: Int64?, expiryMilliseconds: Int64?
    ) throws(ProtocolError) -> Expiry {
        try LifetimeRules(limits).chosen(
            ttlSeconds: ttlSeconds, expiryMilliseconds: expiryMilliseconds, asOf: now)
            ?? .keepOrAfter(seconds: limits.defaultTTLSeconds)
    }
}

/// Which bytes of a payload an answer carries, and how they are coded.
struct BodyChoice {
    var body: BatchedAnswer.Body
    /// Bytes in the body.
    var byteCount: Int
    var coding: Coding

    /// The bytes as given from `lower` up to `upper`.
    static func asGiven(_ blob: BlobReference, _ lower: Int, upTo upper: Int) -> BodyChoice {
        guard lower < upper else { return BodyChoice(body: .none, byteCount: 0, coding: .identity) }
        let body: BatchedAnswer.Body =
            switch blob.coding {
            case .identity: .stored(StoredRange(blob: blob, from: lower, upTo: upper))
            case .gzip: .inflated(blob, from: lower, upTo: upper)
            }
        return BodyChoice(body: body, byteCount: upper - lower, coding: .identity)
    }

    /// All of it, as it is stored if that suits the client.
    static func whole(_ blob: BlobReference, acceptsGzip: Bool) -> BodyChoice {
        guard blob.coding == .gzip, acceptsGzip else {
            return .asGiven(blob, 0, upTo: blob.byteCount)
        }
        let range = StoredRange(blob: blob, from: 0, upTo: blob.storedByteCount)
        return BodyChoice(body: .stored(range), byteCount: range.byteCount, coding: .gzip)
    }
}
