/// What a source may take while it is read: time, until the stop signal comes, and connections.
struct SourceSession {
    let milliseconds: Int
    let stop: StopSignal
    private let limits: ObjectStoreLimits
    private let certificatesPath: String?
    private let deadline: Int

    init(_ limits: ObjectStoreLimits, certificatesPath: String?, stop: StopSignal) {
        milliseconds = limits.credentialsMilliseconds
        self.stop = stop
        self.limits = limits
        self.certificatesPath = certificatesPath
        deadline = MonotonicClock.milliseconds() + milliseconds
    }

    var millisecondsLeft: Int { max(deadline - MonotonicClock.milliseconds(), 0) }

    /// A connection.
    ///
    /// - Parameter isNear: to this machine or the one below it, which no proxy reaches.
    func connect(isNear: Bool = false) throws(ObjectStoreError) -> SourceClient {
        var limits = limits
        if isNear {
            limits.connectMilliseconds = min(
                limits.connectMilliseconds, limits.nearConnectMilliseconds)
        }
        return SourceClient(
            handle: try CurlHandle(limits, certificatesPath: certificatesPath),
            session: self, limits: limits, isNear: isNear)
    }
}

/// Asks a source over one connection. Redirects are not followed.
struct SourceClient {
    fileprivate let handle: CurlHandle
    fileprivate let session: SourceSession
    fileprivate let limits: ObjectStoreLimits
    fileprivate let isNear: Bool

    /// Sends a request once.
    ///
    /// - Parameter body: nil: there is none.
    /// - Returns: an answer with status 200.
    /// - Throws: ``ObjectStoreError/Kind/unavailable`` where it may be another one later.
    func ask(
        _ method: String, _ url: String, headers: [String], body: [UInt8]? = nil
    ) throws(ObjectStoreError) -> HTTPAnswer {
        // Paths and queries may be secret.
        let start = url.firstRange(of: "://")?.upperBound ?? url.startIndex
        let place = url[..<start] + url[start...].prefix { $0 != "/" && $0 != "?" }
        let left = session.millisecondsLeft
        guard left > 0 else {
            throw unavailable("\(place): no answer within \(session.milliseconds) ms")
        }
        let most = ObjectStoreLimits.credentialsByteCountMax
        let answer = HTTPAnswer(limits, byteCountMax: most)
        let request = HTTPRequest(
            method: method, url: url, headers: headers, timeoutMilliseconds: left,
            stallMilliseconds: limits.stallMilliseconds,
            isDirect: isNear)
        let failure =
            body.map { body in
                body.withUnsafeBytes {
                    handle.perform(
                        request, body: HTTPUpload($0), answer: answer, stop: session.stop)
                }
            } ?? handle.perform(request, body: nil, answer: answer, stop: session.stop)
        switch (answer.fault, failure) {
        case (_, .stopped): throw ObjectStoreError(.stopped, "stopped")
        case (.tooLarge, _):
            throw .noCredentials("\(place): the answer is longer than \(most) bytes")
        case (.bad(let words), _): throw .noCredentials("\(place): unexpected answer: \(words)")
        case (nil, .notConnected(let why)), (nil, .cut(let why)):
            guard answer.isCutShort else { throw unavailable("\(place): \(why)") }
        case (nil, nil):
            guard answer.isHeadWhole else {
                throw unavailable("\(place): the head of the answer was truncated")
            }
        }
        guard answer.status == 200 else {
            let words =
                ErrorDocument(answer.kept)?.words
                ?? (try? CredentialsDocument.parse(answer.kept, of: ""))
                .flatMap(CredentialsDocument.failure)
            let text = "\(place): \(answer.status)\(words.map { " \($0)" } ?? "")"
            let isPassing = answer.status >= 500 || [408, 429].contains(answer.status)
            throw isPassing ? unavailable(text) : .noCredentials(text)
        }
        return answer
    }

    private func unavailable(_ why: String) -> ObjectStoreError {
        ObjectStoreError(.unavailable, why)
    }
}
