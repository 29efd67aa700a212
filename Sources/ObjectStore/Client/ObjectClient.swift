import Bytes
import Hashing

/// Asks a bucket, one request after the other, over one connection that is kept alive.
///
/// All calls wait for their answer. They end at the time-outs of ``ObjectStoreLimits`` and at once when the stop signal comes.
/// A client belongs to one thread; it takes about 200 KiB. It reads its answers strictly: redirects are not followed, an
/// error in the body of a 200 is one, lengths are compared, and a missing key is only what the server names so.
package final class ObjectClient {
    package let bucket: ObjectBucket
    let stop: StopSignal
    private let breakers: CircuitBreakers
    private let handle: CurlHandle
    private let onMoved: (@Sendable (Int) -> Void)?

    init(
        _ bucket: ObjectBucket, _ breakers: CircuitBreakers, stop: StopSignal,
        onMoved: (@Sendable (Int) -> Void)? = nil
    ) throws(ObjectStoreError) {
        self.bucket = bucket
        self.breakers = breakers
        self.stop = stop
        self.onMoved = onMoved
        handle = try CurlHandle(
            bucket.limits, certificatesPath: bucket.access.certificatesPath)
    }

    var limits: ObjectStoreLimits { bucket.limits }

    struct Question {
        var operation: ObjectOperation
        var method: String
        /// The object, or the prefix of a listing; empty: the bucket. For the message of an error.
        var name: String
        var key = ""
        var query: [(name: String, value: String)] = []
        var headers: [(name: String, value: String)] = []
        /// The largest body either way, for the time-out.
        var byteCountMax: Int
    }

    /// Sends a question once, and again where other credentials or another clock help: the server has refused such a
    /// request before it did anything.
    ///
    /// - Returns: the answer, whatever its status, or why there is no whole one.
    func ask(
        _ question: Question, body: RawSpan? = nil, _ makeAnswer: () -> HTTPAnswer
    ) throws(ObjectStoreError) -> Result<HTTPAnswer, TransportFailure> {
        var digest = SHA256().digest()
        if let body { digest = SHA256.digest(of: body) }
        var repeatCount = 0
        while true {
            let credentials = try bucket.access.credentials.get(stop: stop)
            let answer = makeAnswer()
            var failure = send(question, body, digest, credentials, answer)
            if failure == nil, !answer.isHeadWhole {
                failure = .cut("the head of the answer was truncated")
            }
            if let failure {
                // An answer that was ended because of what it is, is one.
                guard answer.fault != nil || answer.isCutShort else { return .failure(failure) }
            }
            let refusal = Refusal(answer)
            switch refusal {
            case nil: return .success(answer)
            case .credentials:
                repeatCount += 1
                guard isRenewed(credentials), repeatCount <= 2 else {
                    throw error(question, answer)
                }
            case .denied:
                repeatCount += 1
                guard repeatCount == 1, isRenewed(credentials) else { return .success(answer) }
            case .clock(let seconds):
                repeatCount += 1
                guard let seconds, bucket.clock.follow(serverSeconds: seconds), repeatCount <= 2
                else { throw error(question, answer) }
            }
            bucket.counters.add(to: \.retries, of: question.operation)
        }
    }

    private func isRenewed(_ refused: Credentials) -> Bool {
        bucket.access.credentials.renew(insteadOf: refused, stop: stop) != nil
    }

    private func send(
        _ question: Question, _ body: RawSpan?, _ digest: InlineArray<32, UInt8>,
        _ credentials: Credentials, _ answer: HTTPAnswer
    ) -> TransportFailure? {
        let access = bucket.access
        let path = "/\(bucket.url.bucket)" + (question.key.isEmpty ? "" : "/\(question.key)")
        let signed = RequestSignature(endpoint: access.endpoint, region: access.region).sign(
            question.method, path: path, query: question.query, headers: question.headers,
            bodyDigest: digest, with: credentials, at: bucket.clock.now)
        let seconds = question.byteCountMax / max(limits.bytesPerSecondMin, 1)
        var patience = limits.stallMilliseconds
        if let body { patience = bucket.patience.milliseconds(for: body.byteCount) }
        let request = HTTPRequest(
            method: question.method, url: access.endpoint.origin + signed.target,
            headers: signed.headers.map { "\($0.name): \($0.value)" },
            timeoutMilliseconds: limits.requestMilliseconds + min(seconds, 86_400) * 1_000
                + patience - limits.stallMilliseconds, stallMilliseconds: patience)
        let counters = bucket.counters
        counters.add(to: \.requests, of: question.operation)
        let failure: TransportFailure?
        answer.onMoved = onMoved
        defer { answer.onMoved = nil }
        if let body {
            failure = body.withUnsafeBytes {
                let upload = HTTPUpload($0, onMoved: onMoved)
                let begun = MonotonicClock.milliseconds()
                defer {
                    let passed = MonotonicClock.milliseconds() - begun
                    if answer.status > 0 {
                        bucket.patience.noteAnswer(after: body.byteCount, passed)
                    } else if upload.sentByteCount == body.byteCount {
                        bucket.patience.noteSilence(after: body.byteCount, passed)
                    }
                }
                let failure = handle.perform(request, body: upload, answer: answer, stop: stop)
                counters.add(upload.sentByteCount, to: \.bytesUp, of: question.operation)
                return failure
            }
        } else {
            failure = handle.perform(request, body: nil, answer: answer, stop: stop)
        }
        counters.add(answer.bodyByteCount, to: \.bytesDown, of: question.operation)
        let isExpected = answer.status == 404 || answer.status == 412
        if failure != nil || (answer.status >= 300 && !isExpected) {
            counters.add(to: \.errors, of: question.operation)
        }
        return failure
    }

    enum Attempt<Answer> {
        case done(Answer)
        /// The caller is told, and the bucket fails.
        case doubtful(Answer, ObjectStoreError, retryAfterMilliseconds: Int)
        /// The bucket fails, and may be asked again.
        case failed(ObjectStoreError, retryAfterMilliseconds: Int)
        /// Another client was in the way.
        case conflict(ObjectStoreError)
    }

    /// Makes attempts until one is done, at the times that all clients of the bucket keep. An attempt of another client
    /// that fails meanwhile counts as one.
    ///
    /// - Parameter attempt: an error that it throws is not tried again.
    /// - Throws: the last failure, where there are no attempts left.
    func attempt<Answer>(
        _ operation: ObjectOperation, _ attempt: () throws(ObjectStoreError) -> Attempt<Answer>
    ) throws(ObjectStoreError) -> Answer {
        let breaker = breakers[operation]
        var conflicts = Backoff(limits)
        var count = 0
        while true {
            count += 1
            let failure: ObjectStoreError
            switch breaker.turn(stop) {
            case .stopped: throw Self.stopped
            case .failed(let error): failure = error
            case .ask(let permit):
                if count > 1 { bucket.counters.add(to: \.retries, of: operation) }
                switch try decide(attempt, breaker, permit) {
                case .done(let answer):
                    breaker.succeed(permit)
                    return answer
                case .doubtful(let answer, let error, let milliseconds):
                    breaker.fail(permit, error, retryAfterMilliseconds: milliseconds)
                    return answer
                case .failed(let error, let milliseconds):
                    breaker.fail(permit, error, retryAfterMilliseconds: milliseconds)
                    failure = error
                case .conflict(let error):
                    breaker.succeed(permit)
                    failure = error
                    if stop.wait(milliseconds: conflicts.next()) { throw Self.stopped }
                }
            }
            guard count < limits.attemptCountMax else { throw failure }
        }
    }

    private func decide<Answer>(
        _ attempt: () throws(ObjectStoreError) -> Attempt<Answer>, _ breaker: CircuitBreaker,
        _ permit: CircuitBreaker.Permit
    ) throws(ObjectStoreError) -> Attempt<Answer> {
        do throws(ObjectStoreError) { return try attempt() } catch {
            switch error.kind {
            case .stopped: breaker.leave(permit)
            case .tooLarge: breaker.succeed(permit)
            default: breaker.fail(permit, error, retryAfterMilliseconds: 0)
            }
            throw error
        }
    }

    /// An attempt of what may be carried out twice.
    ///
    /// - Parameter read: reads an answer that is no passing failure of the server.
    func idempotentAttempt<Answer>(
        _ question: Question, _ makeAnswer: () -> HTTPAnswer,
        _ read: (HTTPAnswer) throws(ObjectStoreError) -> Answer
    ) throws(ObjectStoreError) -> Attempt<Answer> {
        switch try ask(question, makeAnswer) {
        case .success(let answer):
            guard !Self.isTransient(answer) || answer.fault != nil else {
                return .failed(
                    error(question, answer), retryAfterMilliseconds: answer.retryAfterMilliseconds)
            }
            return .done(try read(answer))
        case .failure(let failure):
            let error = error(question, failure)
            guard error.kind != .stopped else { throw error }
            return .failed(error, retryAfterMilliseconds: 0)
        }
    }

    static let stopped = ObjectStoreError(.stopped, "stopped")
}
