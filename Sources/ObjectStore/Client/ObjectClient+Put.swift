import Bytes

/// What came of a put.
package enum PutOutcome: Sendable, Equatable {
    /// The object has these bytes.
    case created
    /// There was an object of that name already, and it is as it was.
    case exists
    /// Nobody knows: the request may have been carried out, be carried out later, or never. Ask with ``ObjectClient/get(_:byteCountMax:)``, or
    /// put the same bytes under the same name again.
    ///
    /// `retryAfterMilliseconds`: what the server asked to wait, up to the limit; 0: nothing.
    case unknown(reason: String, retryAfterMilliseconds: Int)
}

extension ObjectClient {
    /// Stores an object.
    ///
    /// With `ifAbsent` the server creates it or leaves it: `If-None-Match: *`, which is signed too. 409 (a conflict with another
    /// conditional put) and 429 say that nothing was done: then it is sent again by itself. Nothing else is, unless
    /// `isRepeatable`.
    ///
    /// - Parameters:
    ///   - name: without the store's prefix.
    ///   - ifAbsent: whether an object that is there stays.
    ///   - isRepeatable: whether a put whose outcome is unknown is sent again, up to the limit of attempts. With `ifAbsent`,
    ///     ``PutOutcome/exists`` may then mean our own. For names that determine their bytes.
    package func put(
        _ name: String, _ body: RawSpan, ifAbsent: Bool, isRepeatable: Bool = false
    ) throws(ObjectStoreError) -> PutOutcome {
        guard body.byteCount <= limits.putByteCountMax else {
            throw ObjectStoreError(
                .tooLarge,
                "put \(ObjectText.line(name)): \(body.byteCount) bytes; at most \(limits.putByteCountMax)"
            )
        }
        let question = Question(
            operation: .put, method: "PUT", name: name, key: try bucket.url.key(name),
            headers: [("Content-Type", "application/octet-stream")]
                + (ifAbsent ? [("If-None-Match", "*")] : []),
            byteCountMax: body.byteCount)
        var backoff = Backoff(limits)
        while true {
            let result = try ask(question, body: body) {
                HTTPAnswer(limits, byteCountMax: limits.errorByteCountMax)
            }
            let outcome = try outcome(question, result, ifAbsent: ifAbsent)
            var retryAfter = 0
            var error = ObjectStoreError(.unavailable, "")
            switch outcome {
            case .done(.unknown(let reason, let milliseconds)):
                let wait = backoff.next(retryAfterMilliseconds: milliseconds)
                guard isRepeatable, !stop.isStopped,
                    backoff.attemptCount < limits.attemptCountMax
                else {
                    return .unknown(
                        reason: reason,
                        retryAfterMilliseconds: min(milliseconds, limits.backoffMillisecondsMax))
                }
                if stop.wait(milliseconds: wait) {
                    return .unknown(reason: reason, retryAfterMilliseconds: 0)
                }
                bucket.counters.add(.retries, .put)
                continue
            case .done(let outcome): return outcome
            case .conflict(let answer):
                retryAfter = answer.retryAfterMilliseconds
                error = self.error(question, answer)
            case .notBegun(let failure):
                error = self.error(question, failure)
                guard isRepeatable, error.kind != .stopped else { throw error }
            }
            try wait(&backoff, retryAfter, .put, error)
        }
    }

    private enum Step {
        case done(PutOutcome)
        /// Nothing was done, by the server's own words.
        case conflict(HTTPAnswer)
        /// Nothing was done: the server has got nothing.
        case notBegun(TransportFailure)
    }

    private func outcome(
        _ question: Question, _ result: Result<HTTPAnswer, TransportFailure>, ifAbsent: Bool
    ) throws(ObjectStoreError) -> Step {
        func unknown(_ reason: String, _ milliseconds: Int = 0) -> Step {
            .done(.unknown(reason: reason, retryAfterMilliseconds: milliseconds))
        }
        let answer: HTTPAnswer
        switch result {
        case .success(let came): answer = came
        case .failure(let failure):
            switch failure {
            case .notConnected, .stopped(isBegun: false): return .notBegun(failure)
            case .cut(let reason): return unknown(reason)
            case .stopped(isBegun: true): return unknown("stopped before the answer came")
            }
        }
        // What breaks the protocol is no word of an object store, whatever its status.
        guard answer.fault == nil, answer.status >= 200 else {
            return unknown(error(question, answer).description)
        }
        let document = ErrorDocument(answer.kept)
        switch answer.status {
        case 200, 201, 204:
            // S3's answer to a put has an ETag and no body. Any other success comes from a proxy, which may have
            // stored nothing.
            let isEmpty = answer.bodyByteCount == 0
            if isEmpty, answer["etag"]?.isEmpty == false { return .done(.created) }
            let what =
                document.map { "the error \($0.words)" }
                ?? (isEmpty ? "no ETag" : "a body that is not S3's")
            return unknown("\(self.what(question)): \(answer.status) with \(what)")
        case 412 where ifAbsent: return .done(.exists)
        case 409, 429: return .conflict(answer)
        case 501: throw error(question, answer)
        case 200..<300, 500...:
            return unknown(error(question, answer).description, answer.retryAfterMilliseconds)
        case _ where Self.isTransient(answer):
            return unknown(error(question, answer).description, answer.retryAfterMilliseconds)
        default: throw error(question, answer)
        }
    }
}
