import BlobProtocol
import BlobStore
import Bytes
import Logging

/// Answers requests: a codec reads one, this type asks the store, and a codec writes the answer into an
/// ``AnswerBatch``. It uses no socket. Each worker has one, and only its thread uses it (see ``Connection``).
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
    /// The time of this iteration, which decides what has expired.
    @exclusivity(unchecked) private(set) var now = Timestamp.now
    /// Whether the daemon belongs to a shard in this iteration.
    @exclusivity(unchecked) private(set) var isInShard = false
    /// Set when the daemon stops: each answer is then the last on its connection.
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

    /// What happens to the input after a request. Rare cases are `indirect`, so that the common ones stay small.
    enum Step {
        /// The bytes are not a whole request yet.
        case needsInput
        /// The answer is in the batch.
        case answered
        /// The answer is in the batch. A body of this many bytes follows and is discarded.
        indirect case answeredThenSkip(UInt64)
        case answeredThenClose
        /// The following four consume nothing of the request. Answer it once the writer has committed.
        case retryAfterCommit
        /// Answer it once this follower has a batch, or a moment later.
        indirect case retryBehind(UInt64)
        /// Answer it once an evicted blob has been fetched.
        indirect case retryWithBlob(BlobReference)
        case retryInNewSnapshot
        indirect case later(ActionStep, PendingReply.Form, Upload.Framing)
    }

    /// Reads the time for the requests of this iteration; `moment` is the same time on the monotonic clock.
    func beginIteration(_ moment: Instant) {
        now = .now
        isInShard = replica.role != .alone
        observer.beginIteration(asOf: moment)
        http.setDate(seconds: now.milliseconds / 1_000)
    }

    /// Answers the request at the start of `bytes`, and sets `consumed` to the number of bytes used.
    @inline(__always)
    func next(
        _ bytes: RawSpan, of connection: inout Session, in snapshot: borrowing Snapshot,
        into batch: inout AnswerBatch, consumed: inout Int
    ) -> Step {
        consumed = 0
        // Only the first request has waited; the others may have arrived since.
        let wait = connection.wait
        connection.wait = .none
        guard bytes.byteCount > 0 else { return .needsInput }
        switch connection.dialect(startingWith: bytes.byte(0)) {
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

    /// Refuses the request at the start of `bytes`, because the store cannot be read now. Sets `consumed` to the number
    /// of bytes used.
    func refuseNext(
        _ bytes: RawSpan, of connection: inout Session, _ failure: StoreError,
        into batch: inout AnswerBatch, consumed: inout Int
    ) -> Step {
        consumed = 0
        connection.wait = .none
        guard bytes.byteCount > 0 else { return .needsInput }
        errorLog.note(failure)
        let error = ProtocolError(noSnapshot: failure)
        return switch connection.dialect(startingWith: bytes.byte(0)) {
        case .binary:
            refuseNextFrame(error, bytes, of: connection, into: &batch, consumed: &consumed)
        case .http, .unknown:
            refuseNextHTTP(error, bytes, of: &connection, into: &batch, consumed: &consumed)
        }
    }

    /// Answers a request, unless the snapshot may lack what it reads; then it is tried again. Its slices refer to
    /// `text`.
    @inline(__always)
    func answer<Incoming: IncomingRequest & ~Escapable>(
        _ asked: Request, _ text: RawSpan, _ request: Incoming, in snapshot: borrowing Snapshot,
        into batch: inout AnswerBatch, consumed: inout Int
    ) -> Step {
        if request.wait == .none {
            switch asked.readiness(in: snapshot, of: store) {
            case .ready: break
            case .pendingCommit:
                consumed = 0
                return .retryAfterCommit
            case .staleSnapshot:
                consumed = 0
                return .retryInNewSnapshot
            }
        }
        if request.wait == .inVain { return refuse(.stopping, asked, request, into: &batch) }
        switch asked {
        case .fetch(let key):
            return fetch(key, text, asked, request, in: snapshot, into: &batch, consumed: &consumed)
        case .call(let call):
            if case .fetch = call.endpoint.action {
                return fetch(call, request, in: snapshot, into: &batch, consumed: &consumed)
            }
            return perform(call, request, in: snapshot, into: &batch)
        }
    }

    @inline(__always)
    private func fetch<Incoming: IncomingRequest & ~Escapable>(
        _ key: PayloadKey, _ text: RawSpan, _ asked: Request, _ request: Incoming,
        in snapshot: borrowing Snapshot, into batch: inout AnswerBatch, consumed: inout Int
    ) -> Step {
        var isByDigest = false
        if case .digest = key { isByDigest = true }
        do throws(FetchFailure) {
            let status = try request.appendPayload(
                try payload(key, text, in: snapshot), isByDigest: isByDigest, self, in: snapshot,
                into: &batch)
            requests.countFetch(status: status)
            if observer.logsRequests {
                observer.logFetch(
                    request.logged(asked, withAgent: true), status: status, batch)
            }
            return request.stepAfterAnswer
        } catch {
            return step(after: error, asked, request, into: &batch, consumed: &consumed)
        }
    }

    /// A device's fetch with a token, of a payload whose notification exists for the device.
    @inline(never)
    private func fetch<Incoming: IncomingRequest & ~Escapable>(
        _ call: EndpointRequest, _ request: Incoming, in snapshot: borrowing Snapshot,
        into batch: inout AnswerBatch, consumed: inout Int
    ) -> Step {
        let names = Array((call.name + (call.part?.text ?? "")).utf8)
        let id = Slice(offset: 0, count: call.name.utf8.count)
        let part = Slice(offset: id.count, count: names.count - id.count)
        do throws(ProtocolError) {
            _ = try record(id.of(names.span.bytes), for: call, in: snapshot)
        } catch {
            return refuse(error, .call(call), request, into: &batch)
        }
        return fetch(
            .part(id: id, part: part), names.span.bytes, .call(call), request, in: snapshot,
            into: &batch, consumed: &consumed)
    }

    /// If the blob is only in the bucket, the fetch waits for it, unless waiting is futile.
    @inline(never)
    private func step<Incoming: IncomingRequest & ~Escapable>(
        after failure: FetchFailure, _ asked: Request, _ request: Incoming,
        into batch: inout AnswerBatch, consumed: inout Int
    ) -> Step {
        switch failure {
        case .refused(let error): return refuse(error, asked, request, into: &batch)
        case .evicted(let blob):
            if let why = replica.fetches.refusal(of: blob, asOf: .now) {
                let error = ProtocolError(.unavailable, "cannot send the payload now: \(why)")
                return refuse(error, asked, request, into: &batch)
            }
            consumed = 0
            return .retryWithBlob(blob)
        }
    }

    /// Answers everything but fetches. Separate, so that the code of a fetch stays in one function.
    @inline(never)
    private func perform<Incoming: IncomingRequest & ~Escapable>(
        _ call: EndpointRequest, _ request: Incoming, in snapshot: borrowing Snapshot,
        into batch: inout AnswerBatch
    ) -> Step {
        let entry = observer.entry(
            call.endpoint.operation,
            request.logged(.call(call), withAgent: observer.logsRequests))
        do throws(ProtocolError) {
            let step = try request.accept(try perform(call, in: snapshot))
            var form = PendingReply.Form(dialect: request.dialect, entry: entry)
            switch step {
            case .respond(let answer):
                respond(answer, form, into: &batch)
                return request.stepAfterAnswer
            case .subscribe, .sendBackup:
                if case .http(let head) = form.dialect, head.isHead {
                    if case .subscribe = step {
                        http.appendEventsHead(head, into: &batch)
                    } else {
                        http.appendBackupHead(head, into: &batch)
                    }
                    observer.note(entry, status: 200, nil, batch)
                    return request.stepAfterAnswer
                }
                if case .subscribe = step { form = form.counted(as: .watch) }
            case .awaitChanges(let query):
                if query.waitSeconds > 0 { form = form.counted(as: .wait) }
            case .write:
                form.acknowledgement = try acknowledgement(asked: request.acknowledgement())
            case .receiveBody(let plan):
                form.acknowledgement = try acknowledgement(asked: request.acknowledgement())
                if case .counted(let count) = request.framing, count > UInt64(plan.byteCountMax) {
                    throw plan.tooLarge
                }
            }
            return .later(step, form, request.framing)
        } catch {
            return request.refuse(error, entry, by: self, into: &batch)
        }
    }

    /// Refuses a request; `asked` is nil if it is not known.
    @inline(never)
    func refuse<Incoming: IncomingRequest & ~Escapable>(
        _ error: ProtocolError, _ asked: Request?, _ request: Incoming,
        into batch: inout AnswerBatch
    ) -> Step {
        let entry = observer.entry(
            asked?.operation ?? .unknown,
            request.logged(asked, withAgent: observer.logsRequests))
        return request.refuse(error, entry, by: self, into: &batch)
    }

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

    func answer(_ reply: PendingReply, with result: ChangeResult, into batch: inout AnswerBatch) {
        // Decided when the answer is written: the daemon may have begun to stop since the request.
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

    /// Throws `unavailable` while clients that do not read hold all memory for answers.
    func requireAnswerMemory() throws(ProtocolError) {
        guard answerMemory.isUsedUp else { return }
        throw ProtocolError(
            .unavailable, "the memory for unread answers is used up; try again",
            limit: limits.answerMemoryByteCountMax)
    }

    /// Throws the reason why this daemon accepts no changes now.
    func requireWritable() throws(ProtocolError) {
        if let refusal = replica.refusal { throw refusal }
    }

    var pageByteCountMax: Int { answerMemory.pageByteCountMax }

    /// The client's error for an error of the store, which is logged if it is the store's own failure.
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
