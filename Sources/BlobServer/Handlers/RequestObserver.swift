import BlobProtocol
import BlobStore
import Bytes
import Logging

/// What metrics and logs need of a request. An object, so that a connection's phase stays small: a fetch copies it.
final class RequestEntry: Sendable {
    let operation: Operation
    let startedAt: Instant
    /// nil if no log can need it.
    let request: LoggedRequest?

    init(operation: Operation, startedAt: Instant, request: LoggedRequest? = nil) {
        self.operation = operation
        self.startedAt = startedAt
        self.request = request
    }
}

/// Counts, times and logs a worker's answers. Only its thread uses it.
final class RequestObserver {
    private static let slowLinesPerSecondMax = 20

    let counters: WorkerCounters
    private let requests: RequestCounters
    private let accessLog: AccessLog?
    private var slowNanoseconds = Int64.max
    private var slowLog: RateLimitedLog
    private var lines: [UInt8] = []
    private var lineCount = 0
    /// When the worker learnt of the requests of this iteration.
    @exclusivity(unchecked) private(set) var startedAt = Instant.now
    /// When the clock was last read: the time used by a time slice is measured with it, at no cost.
    @exclusivity(unchecked) private(set) var moment = Instant.now
    @exclusivity(unchecked) private var timedFetchCount = 0

    /// Whether each request is logged, so that fetches need an entry, too.
    let logsRequests: Bool

    init(
        _ counters: WorkerCounters, accessLog: AccessLog?, slowMilliseconds: Int, log: Logger
    ) {
        self.counters = counters
        requests = counters.requests
        self.accessLog = accessLog
        slowLog = RateLimitedLog(log, linesPerSecondMax: Self.slowLinesPerSecondMax)
        logsRequests = accessLog != nil
        change(slowMilliseconds: slowMilliseconds)
    }

    func change(slowMilliseconds: Int) {
        slowNanoseconds = slowMilliseconds > 0 ? Int64(slowMilliseconds) * 1_000_000 : .max
    }

    @inline(__always)
    func beginIteration(asOf now: Instant) {
        startedAt = now
        moment = now
    }

    @inline(__always)
    func endIteration() {
        guard lineCount > 0 else { return }
        flush()
    }

    private func flush() {
        accessLog?.take(lines, count: lineCount)
        lines.removeAll(keepingCapacity: lines.capacity <= AnswerBatch.keptBufferByteCountMax)
        lineCount = 0
    }

    func entry(
        _ operation: Operation, _ request: @autoclosure () -> LoggedRequest
    ) -> RequestEntry {
        let isLogged = logsRequests || slowNanoseconds < .max
        return RequestEntry(
            operation: operation, startedAt: startedAt, request: isLogged ? request() : nil)
    }

    /// Records the last answer in the batch.
    func note(
        _ entry: RequestEntry, status: UInt16, _ code: ErrorCode?, _ batch: borrowing AnswerBatch
    ) {
        moment = .now
        let nanoseconds = moment.nanoseconds - entry.startedAt.nanoseconds
        requests.count(entry.operation, status: status, nanoseconds: nanoseconds)
        let isSlow = entry.operation.isTimed && isNoted(nanoseconds)
        guard isSlow || logsRequests else { return }
        let answered = AnsweredRequest(
            operation: entry.operation, status: status, code: code, nanoseconds: nanoseconds,
            request: entry.request)
        if isSlow { noteSlow(answered) }
        log(answered, batch)
    }

    @inline(__always)
    private func isNoted(_ nanoseconds: Int64) -> Bool {
        nanoseconds >= slowNanoseconds || counters.slowest.takes(nanoseconds)
    }

    private func noteSlow(_ slow: AnsweredRequest) {
        if counters.slowest.takes(slow.nanoseconds) { counters.slowest.note(slow) }
        logSlow(slow)
    }

    private func logSlow(_ slow: AnsweredRequest) {
        guard slow.nanoseconds >= slowNanoseconds else { return }
        slowLog.note(
            .warning, "Slow request",
            metadata: [
                "operation": "\(slow.operation.rawValue)", "status": "\(slow.status)",
                "duration_ms": "\(Milliseconds.text(slow.nanoseconds))", "target": "\(slow.target)",
            ])
    }

    private func log(_ answered: AnsweredRequest, _ batch: borrowing AnswerBatch) {
        guard let accessLog, let request = answered.request else { return }
        answered.append(accessLog.format, request, byteCount: batch.lastByteCount, to: &lines)
        lineCount += 1
    }

    /// Logs a fetch that is the last answer in the batch and already counted.
    func logFetch(
        _ request: LoggedRequest, status: UInt16, _ batch: borrowing AnswerBatch
    ) {
        let nanoseconds = Instant.now.nanoseconds - startedAt.nanoseconds
        log(
            AnsweredRequest(
                operation: .fetch, status: status, nanoseconds: nanoseconds, request: request),
            batch)
    }

    /// Records how long the fetches took whose answers were sent since the last call. Nil if there were none, in which
    /// case the clock was not read.
    @inline(__always)
    func noteFetches(_ batch: borrowing AnswerBatch) -> Instant? {
        let count = requests.fetchCount
        guard count != timedFetchCount else { return nil }
        let now = Instant.now
        moment = now
        let nanoseconds = now.nanoseconds - startedAt.nanoseconds
        requests.fetchDurations.note(
            nanoseconds: nanoseconds, count: count - timedFetchCount)
        timedFetchCount = count
        if isNoted(nanoseconds) { noteSlowFetches(batch, nanoseconds) }
        return now
    }

    /// The requested notifications are no longer known. The head of each answer names the bytes that were sent.
    @inline(never)
    private func noteSlowFetches(_ batch: borrowing AnswerBatch, _ nanoseconds: Int64) {
        var isNoted = false
        for index in 0..<batch.answers.count {
            let status = batch.answers[index].fetchStatus
            guard status > 0, let digest = Self.digest(in: batch.head(index)) else { continue }
            let slow = AnsweredRequest(
                operation: .fetch, status: status, nanoseconds: nanoseconds,
                request: LoggedRequest(method: "blob", target: digest, version: "-"))
            if isNoted { logSlow(slow) } else { noteSlow(slow) }
            isNoted = true
            guard nanoseconds >= slowNanoseconds else { return }
        }
    }

    /// At the start of a frame's head, or between the quotation marks of HTTP's entity tag.
    private static func digest(in head: RawSpan) -> String? {
        if head.byteCount > 0, head.byte(0) == Wire.responseMagic {
            return Digest(
                bytes: head.extracting(droppingFirst: Wire.frameHeaderByteCount)
                    .extracting(first: Wire.digestByteCount))?.description
        }
        let name = UInt64(littleEndian: 0x2220_3A67_6154_450A)  // a line end and `ETag: "`
        var start = 0
        while start + 8 <= head.byteCount, head.word(start) != name { start += 1 }
        let tag = head.extracting(droppingFirst: min(start + 8, head.byteCount))
        let end = tag.index(of: UInt8(ascii: "\""))
        return end < tag.byteCount ? tag.extracting(first: end).text() : nil
    }
}

extension RequestObserver {
    func unknown(_ connection: Session) -> RequestEntry {
        entry(
            .unknown,
            LoggedRequest(
                method: "-", target: "-", version: "-", isDevice: connection.isDevice,
                userID: connection.userID))
    }
}
