import Bytes

package enum CreateOutcome: Sendable, Hashable {
    case created
    case exists
    /// Nobody knows: the request may have been carried out, be carried out later, or never. Ask with ``ObjectClient/get(_:byteCountMax:)``, or
    /// create the same name with the same bytes again.
    case unknown(String)
}

extension ObjectClient {
    /// Creates an object, or leaves the one that is there: `If-None-Match: *`, which is signed too.
    ///
    /// 409 (a conflict with another create) and 429 say that nothing was done: then it is sent again by itself. Nothing else
    /// is.
    package func create(
        _ name: String, _ body: RawSpan
    ) throws(ObjectStoreError) -> CreateOutcome {
        let question = try question(name, body, [("If-None-Match", "*")])
        return try attempt(.put) { () throws(ObjectStoreError) in try send(question, body) }
    }

    /// Stores an object, whatever is there: for names that determine their bytes. Sent again where its outcome is unknown.
    package func put(_ name: String, _ body: RawSpan) throws(ObjectStoreError) {
        let question = try question(name, body, [])
        try attempt(.put) { () throws(ObjectStoreError) -> Attempt<Void> in
            let sent: Attempt<CreateOutcome>
            do throws(ObjectStoreError) { sent = try send(question, body) } catch {
                // The server has got nothing.
                guard error.kind == .notReachable else { throw error }
                return .failed(error, retryAfterMilliseconds: 0)
            }
            switch sent {
            case .done(.created): return .done(())
            case .done: throw bad(question, "412 without a condition")
            case .conflict(let error): return .conflict(error)
            case .failed(let error, let milliseconds):
                return .failed(error, retryAfterMilliseconds: milliseconds)
            case .doubtful(_, let error, let milliseconds):
                guard !stop.isStopped else { throw Self.stopped }
                return .failed(error, retryAfterMilliseconds: milliseconds)
            }
        }
    }

    private func question(
        _ name: String, _ body: RawSpan, _ headers: [(name: String, value: String)]
    ) throws(ObjectStoreError) -> Question {
        guard body.byteCount <= limits.putByteCountMax else {
            throw ObjectStoreError(
                .tooLarge,
                "put \(ObjectText.line(name)): \(body.byteCount) bytes; at most \(limits.putByteCountMax)"
            )
        }
        return Question(
            operation: .put, method: "PUT", name: name, key: try bucket.url.key(name),
            headers: [("Content-Type", "application/octet-stream")] + headers,
            byteCountMax: body.byteCount)
    }

    /// Sends a put once. The outcome is unknown unless the server has got nothing, or says by its own words what it did.
    private func send(
        _ question: Question, _ body: RawSpan
    ) throws(ObjectStoreError) -> Attempt<CreateOutcome> {
        let answer: HTTPAnswer
        switch try ask(
            question, body: body, { HTTPAnswer(limits, byteCountMax: limits.errorByteCountMax) })
        {
        case .success(let came): answer = came
        case .failure(.cut(let reason)): return unknown(reason)
        case .failure(.stopped(isBegun: true)): return unknown("stopped before the answer arrived")
        case .failure(let failure): throw error(question, failure)
        }
        // What breaks the protocol is no word of an object store, whatever its status.
        guard answer.fault == nil, answer.status >= 200 else {
            return unknown(error(question, answer).description)
        }
        let milliseconds = answer.retryAfterMilliseconds
        switch answer.status {
        case 200, 201, 204:
            // S3's answer to a put has an ETag and no body. Any other success comes from a proxy, which may have
            // stored nothing.
            let isEmpty = answer.bodyByteCount == 0
            if isEmpty, answer["etag"]?.isEmpty == false { return .done(.created) }
            let what =
                ErrorDocument(answer.kept).map { "the error \($0.words)" }
                ?? (isEmpty ? "no ETag" : "a body that is not S3's")
            return unknown("\(self.what(question)): \(answer.status) with \(what)")
        case 412: return .done(.exists)
        case 409: return .conflict(error(question, answer))
        case 429: return .failed(error(question, answer), retryAfterMilliseconds: milliseconds)
        case 501: throw error(question, answer)
        case _ where answer.status < 300 || answer.status >= 500 || Self.isTransient(answer):
            return unknown(error(question, answer).description, milliseconds)
        default: throw error(question, answer)
        }
    }

    private func unknown(_ reason: String, _ milliseconds: Int = 0) -> Attempt<CreateOutcome> {
        .doubtful(
            .unknown(reason), ObjectStoreError(.unavailable, reason),
            retryAfterMilliseconds: milliseconds)
    }
}
