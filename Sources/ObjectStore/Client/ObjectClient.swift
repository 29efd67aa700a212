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
    private let handle: CurlHandle

    init(_ bucket: ObjectBucket, stop: StopSignal) throws(ObjectStoreError) {
        self.bucket = bucket
        self.stop = stop
        handle = try CurlHandle(
            bucket.limits, certificatesPath: bucket.access.certificatesPath)
    }

    var limits: ObjectStoreLimits { bucket.limits }

    /// One question to the bucket.
    struct Question {
        var operation: ObjectOperation
        var method: String
        /// The object, or the prefix of a listing; empty: the bucket. For the message of an error.
        var name: String
        /// The whole key; empty: the bucket itself.
        var key = ""
        var query: [(name: String, value: String)] = []
        var headers: [(name: String, value: String)] = []
        /// The largest body either way, for the time-out.
        var byteCountMax: Int
    }

    /// Sends a question once, and again where other credentials or another clock help: the server has refused such a
    /// request before it did anything.
    ///
    /// - Parameter makeAnswer: called for each request.
    /// - Returns: the answer, whatever its status, or why there is no whole one.
    func ask(
        _ question: Question, body: RawSpan? = nil, _ makeAnswer: () -> HTTPAnswer
    ) throws(ObjectStoreError) -> Result<HTTPAnswer, TransportFailure> {
        var digest = SHA256().digest()
        if let body { digest = SHA256.digest(of: body) }
        var repeatCount = 0
        while true {
            let credentials = bucket.access.credentials.credentials
            let answer = makeAnswer()
            var failure = send(question, body, digest, credentials, answer)
            if failure == nil, !answer.isHeadWhole {
                failure = .cut("the head of the answer was cut")
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
                guard bucket.access.credentials.refresh(insteadOf: credentials) != nil,
                    repeatCount <= 2
                else { throw error(question, answer) }
            case .clock(let seconds):
                repeatCount += 1
                guard let seconds, bucket.clock.follow(serverSeconds: seconds), repeatCount <= 2
                else { throw error(question, answer) }
            }
            bucket.counters.add(.retries, question.operation)
        }
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
        let request = HTTPRequest(
            method: question.method, url: access.endpoint.origin + signed.target,
            headers: signed.headers.map { "\($0.name): \($0.value)" },
            timeoutMilliseconds: limits.requestMilliseconds + min(seconds, 86_400) * 1_000)
        let counters = bucket.counters
        counters.add(.requests, question.operation)
        let failure: TransportFailure?
        if let body {
            failure = body.withUnsafeBytes {
                let upload = HTTPUpload($0)
                let failure = handle.perform(request, body: upload, answer: answer, stop: stop)
                counters.add(.bytesUp, question.operation, count: upload.sentByteCount)
                return failure
            }
        } else {
            failure = handle.perform(request, body: nil, answer: answer, stop: stop)
        }
        counters.add(.bytesDown, question.operation, count: answer.bodyByteCount)
        let isExpected = answer.status == 404 || answer.status == 412
        if failure != nil || (answer.status >= 300 && !isExpected) {
            counters.add(.errors, question.operation)
        }
        return failure
    }

    /// Asks until there is an answer that is no passing failure of the server: for what may be carried out twice.
    ///
    /// - Parameters:
    ///   - makeQuestion: called for each attempt: what is missing yet.
    ///   - makeAnswer: called for each request.
    func askAgain(
        _ makeQuestion: () -> Question, _ makeAnswer: () -> HTTPAnswer
    ) throws(ObjectStoreError) -> HTTPAnswer {
        var backoff = Backoff(limits)
        while true {
            let question = makeQuestion()
            var retryAfterMilliseconds = 0
            let error: ObjectStoreError
            switch try ask(question, makeAnswer) {
            case .success(let answer):
                guard Self.isTransient(answer) else { return answer }
                retryAfterMilliseconds = answer.retryAfterMilliseconds
                error = self.error(question, answer)
            case .failure(let failure):
                error = self.error(question, failure)
                guard error.kind != .stopped else { throw error }
            }
            try wait(&backoff, retryAfterMilliseconds, question.operation, error)
        }
    }

    /// Waits before the next attempt; throws `error` when there is none.
    func wait(
        _ backoff: inout Backoff, _ retryAfterMilliseconds: Int, _ operation: ObjectOperation,
        _ error: ObjectStoreError
    ) throws(ObjectStoreError) {
        let wait = backoff.next(retryAfterMilliseconds: retryAfterMilliseconds)
        guard backoff.attemptCount < limits.attemptCountMax else { throw error }
        if stop.wait(milliseconds: wait) { throw Self.stopped }
        bucket.counters.add(.retries, operation)
    }

    static let stopped = ObjectStoreError(.stopped, "stopped")
}
