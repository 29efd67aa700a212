import Bytes

/// What came of a create.
package enum CreateOutcome: Sendable, Hashable {
    /// The object has these bytes.
    case created
    /// There was an object of that name already, and it is as it was.
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
    ///
    /// - Parameter name: without the store's prefix.
    package func create(
        _ name: String, _ body: RawSpan
    ) throws(ObjectStoreError) -> CreateOutcome {
        let question = try question(name, body, [("If-None-Match", "*")])
        return try attempt(.put) { () throws(ObjectStoreError) in
            switch try send(question, body) {
            case .stored: return .done(.created)
            case .exists: return .done(.exists)
            case .conflict(let error): return .conflict(error)
            case .refused(let error, let milliseconds):
                return .failed(error, retryAfterMilliseconds: milliseconds)
            case .notBegun(let error): throw error
            case .unknown(let reason, let milliseconds):
                return .doubtful(
                    .unknown(reason), ObjectStoreError(.unavailable, reason),
                    retryAfterMilliseconds: milliseconds)
            }
        }
    }

    /// Stores an object, whatever is there: for names that determine their bytes. Sent again where its outcome is unknown.
    ///
    /// - Parameter name: without the store's prefix.
    package func put(_ name: String, _ body: RawSpan) throws(ObjectStoreError) {
        let question = try question(name, body, [])
        try attempt(.put) { () throws(ObjectStoreError) in
            switch try send(question, body) {
            case .stored: return .done(())
            case .exists: throw bad(question, "412 without a condition")
            case .conflict(let error): return .conflict(error)
            case .refused(let error, let milliseconds):
                return .failed(error, retryAfterMilliseconds: milliseconds)
            case .notBegun(let error):
                guard error.kind != .stopped else { throw error }
                return .failed(error, retryAfterMilliseconds: 0)
            case .unknown(let reason, let milliseconds):
                guard !stop.isStopped else { throw Self.stopped }
                return .failed(
                    ObjectStoreError(.unavailable, reason), retryAfterMilliseconds: milliseconds)
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

    private enum Sent {
        case stored
        /// By the server's word: 412.
        case exists
        /// Nothing was done: another create of the name was in the way (409).
        case conflict(ObjectStoreError)
        /// Nothing was done, by the server's own words.
        case refused(ObjectStoreError, retryAfterMilliseconds: Int)
        /// Nothing was done: the server has got nothing.
        case notBegun(ObjectStoreError)
        case unknown(reason: String, retryAfterMilliseconds: Int)
    }

    private func send(
        _ question: Question, _ body: RawSpan
    ) throws(ObjectStoreError) -> Sent {
        let answer: HTTPAnswer
        switch try ask(
            question, body: body, { HTTPAnswer(limits, byteCountMax: limits.errorByteCountMax) })
        {
        case .success(let came): answer = came
        case .failure(let failure):
            switch failure {
            case .notConnected, .stopped(isBegun: false): return .notBegun(error(question, failure))
            case .cut(let reason): return .unknown(reason: reason, retryAfterMilliseconds: 0)
            case .stopped(isBegun: true):
                return .unknown(
                    reason: "stopped before the answer came", retryAfterMilliseconds: 0)
            }
        }
        // What breaks the protocol is no word of an object store, whatever its status.
        guard answer.fault == nil, answer.status >= 200 else {
            return .unknown(
                reason: error(question, answer).description, retryAfterMilliseconds: 0)
        }
        let document = ErrorDocument(answer.kept)
        switch answer.status {
        case 200, 201, 204:
            // S3's answer to a put has an ETag and no body. Any other success comes from a proxy, which may have
            // stored nothing.
            let isEmpty = answer.bodyByteCount == 0
            if isEmpty, answer["etag"]?.isEmpty == false { return .stored }
            let what =
                document.map { "the error \($0.words)" }
                ?? (isEmpty ? "no ETag" : "a body that is not S3's")
            return .unknown(
                reason: "\(self.what(question)): \(answer.status) with \(what)",
                retryAfterMilliseconds: 0)
        case 412: return .exists
        case 409: return .conflict(error(question, answer))
        case 429:
            return .refused(
                error(question, answer), retryAfterMilliseconds: answer.retryAfterMilliseconds)
        case 501: throw error(question, answer)
        case 200..<300, 500...:
            return unknown(question, answer)
        case _ where Self.isTransient(answer): return unknown(question, answer)
        default: throw error(question, answer)
        }
    }

    private func unknown(_ question: Question, _ answer: HTTPAnswer) -> Sent {
        .unknown(
            reason: error(question, answer).description,
            retryAfterMilliseconds: answer.retryAfterMilliseconds)
    }
}
