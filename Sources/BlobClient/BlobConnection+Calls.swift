public import BlobProtocol

/// What to store, besides the bytes. `patch` can clear a value.
public typealias PutRequest = Put.Draft

// These must not be called while pipelined requests are unanswered, because those answers arrive first.
extension BlobConnection {
    /// Asks whether the store can commit. Throws `refused` (503 or 507) if it cannot.
    public mutating func ping() throws(ClientError) {
        _ = try queuePing()
        _ = try onlyOutcome()
    }

    /// Makes a call and reads its answer.
    @discardableResult
    public mutating func call<Answer>(
        _ call: DaemonCall<Answer>
    ) throws(ClientError) -> Answer {
        try call.read(try answer(to: call))
    }

    /// Makes a call and returns its answer unread.
    @discardableResult
    public mutating func answer<Answer>(
        to call: DaemonCall<Answer>
    ) throws(ClientError) -> CallAnswer {
        let timeout = options.timeoutMilliseconds
        // The daemon is silent for as long as the call waits.
        let isPatient =
            timeout > 0 && (1...WireLimits.waitSecondsMax).contains(call.waitSeconds)
        if isPatient { socket.setTimeout(milliseconds: timeout + call.waitSeconds * 1_000) }
        defer { if isPatient { socket.setTimeout(milliseconds: timeout) } }
        _ = try queueHead(of: call)
        try flush()
        try send(call.body.span.bytes)
        let outcome = try onlyOutcome()
        guard case .called(let answer) = outcome else { throw unexpected(outcome) }
        return answer
    }

    /// Stores bytes for a notification. They are on the daemon's disk when this returns.
    @discardableResult
    public mutating func put(
        _ request: PutRequest, _ bytes: RawSpan
    ) throws(ClientError) -> PutReceipt {
        _ = try queuePutHead(request, byteCount: UInt64(bytes.byteCount))
        try flush()
        try send(bytes)
        return try receipt()
    }

    /// Stores `byteCount` bytes that `source` supplies piece by piece: each call appends at least one byte to an empty
    /// array, whose memory is reused.
    ///
    /// Rethrows errors of `source`, and throws `source` if it supplies fewer or more bytes. Nothing is stored then, and
    /// the connection ends, because the daemon waits for the rest.
    @discardableResult
    public mutating func put(
        _ request: PutRequest, byteCount: UInt64, from source: (inout [UInt8]) throws -> Void
    ) throws -> PutReceipt {
        _ = try queuePutHead(request, byteCount: byteCount)
        try flush()
        var left = byteCount
        var piece: [UInt8] = []
        while left > 0 {
            piece.removeAll(keepingCapacity: true)
            do {
                try source(&piece)
                guard !piece.isEmpty, UInt64(piece.count) <= left else {
                    let given = byteCount - left + UInt64(piece.count)
                    throw ClientError.source(
                        "its source gave \(given) of the announced \(byteCount) bytes")
                }
            } catch {
                fail(.closed("because a payload was incomplete"))
                throw error
            }
            try send(piece.span.bytes)
            left -= UInt64(piece.count)
        }
        return try receipt()
    }

    /// Fetches a part (nil: `payload`) or a range of it into memory. Verifies the digest of a whole part. Throws
    /// `notFound` and `expired`, and `refused` with 413 above `Options.payloadByteCountMax`.
    public mutating func get(
        _ id: String, part: String? = nil, range: WireRange? = nil
    ) throws(ClientError) -> FetchedPayload {
        _ = try queueGet(id, part: part, range: range, acceptsGzip: range == nil)
        return try fetched(isWhole: range == nil)
    }

    /// Like `get`, by digest.
    public mutating func getBlob(
        _ digest: PayloadDigest, range: WireRange? = nil
    ) throws(ClientError) -> FetchedPayload {
        _ = try queueGetBlob(digest, range: range, acceptsGzip: range == nil)
        return try fetched(isWhole: range == nil)
    }

    /// Fetches a part piece by piece, in bounded memory. Each piece is only valid during the call of `sink`.
    ///
    /// Do not use the bytes before this returns: a `digestMismatch` is thrown after the last of them. An error of
    /// `sink` is rethrown once the rest has been received.
    @discardableResult
    public mutating func get(
        _ id: String, part: String? = nil, range: WireRange? = nil,
        to sink: (PayloadInfo, RawSpan) throws -> Void
    ) throws -> PayloadInfo {
        _ = try queueGet(id, part: part, range: range, acceptsGzip: range == nil)
        return try handOn(to: sink)
    }

    /// Like `get(_:part:range:to:)`, by digest.
    @discardableResult
    public mutating func getBlob(
        _ digest: PayloadDigest, range: WireRange? = nil,
        to sink: (PayloadInfo, RawSpan) throws -> Void
    ) throws -> PayloadInfo {
        _ = try queueGetBlob(digest, range: range, acceptsGzip: range == nil)
        return try handOn(to: sink)
    }

    // MARK: Answers

    private mutating func onlyOutcome(
        _ sink: (PayloadInfo, RawSpan) -> Bool = { _, _ in true }
    ) throws(ClientError) -> Answer.Outcome {
        precondition(unansweredCount == 1, "pipelined requests are still unanswered")
        let outcome = try receive(sink).outcome
        if case .failed(let error) = outcome { throw error }
        return outcome
    }

    private mutating func receipt() throws(ClientError) -> PutReceipt {
        let outcome = try onlyOutcome()
        guard case .stored(let receipt) = outcome else { throw unexpected(outcome) }
        return receipt
    }

    private mutating func handOn(
        to sink: (PayloadInfo, RawSpan) throws -> Void
    ) throws -> PayloadInfo {
        var failed: (any Error)?
        let outcome = try onlyOutcome { info, piece in
            do {
                try sink(info, piece)
            } catch {
                failed = error
            }
            return failed == nil
        }
        if let failed { throw failed }
        guard case .payload(let info) = outcome else { throw unexpected(outcome) }
        return info
    }

    /// - Parameter isWhole: not a range, so that the head of the answer contains the length.
    private mutating func fetched(isWhole: Bool) throws(ClientError) -> FetchedPayload {
        var bytes: [UInt8] = []
        var isTooLong = false
        let byteCountMax = options.payloadByteCountMax
        let outcome = try onlyOutcome { info, piece in
            let byteCount =
                isWhole ? info.byteCount : UInt64(bytes.count) + UInt64(piece.byteCount)
            isTooLong = byteCount > byteCountMax
            guard !isTooLong else { return false }
            if bytes.isEmpty { bytes.reserveCapacity(piece.byteCount) }
            piece.withUnsafeBytes { bytes.append(contentsOf: $0) }
            return true
        }
        guard case .payload(let info) = outcome else { throw unexpected(outcome) }
        guard !isTooLong else {
            let what =
                isWhole ? "the payload is \(info.byteCount) bytes long" : "the range is longer"
            throw ClientError.refused(
                DaemonProblem(
                    status: 413, code: "payload_too_large", title: "Payload too large",
                    detail: "\(what); this client's limit is \(byteCountMax) bytes"))
        }
        return FetchedPayload(info: info, bytes: bytes)
    }

    func unexpected(_ outcome: Answer.Outcome) -> ClientError {
        .protocolViolation("the answer does not match the request")
    }
}
