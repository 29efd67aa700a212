public import BlobProtocol

// Each call queues one request for the next `flush` or `receive`, and returns the number of its answer. Throws
// `invalid` for a request that the daemon would refuse, `tooManyUnanswered` above `DaemonInfo.requestsInFlightMax`, and
// the connection's `failure` once it has failed.
extension BlobConnection {
    /// Queues a ping. The answer is `done` if the store can commit.
    public mutating func queuePing() throws(ClientError) -> UInt32 {
        try queue(.ping)
    }

    /// Queues a put and a copy of its bytes.
    public mutating func queuePut(
        _ request: PutRequest, _ bytes: RawSpan
    ) throws(ClientError) -> UInt32 {
        let requestID = try queuePutHead(request, byteCount: UInt64(bytes.byteCount))
        queueBody(bytes)
        return requestID
    }

    /// Queues a put without its bytes, which must be sent next.
    mutating func queuePutHead(
        _ request: PutRequest, byteCount: UInt64
    ) throws(ClientError) -> UInt32 {
        try queue(.put, flags: request.flags, bodyByteCount: byteCount) {
            (out) throws(ProtocolError) in
            try request.compose(into: &out)
        }
    }

    /// Queues a get of a part (nil: `payload`), or of a range of its bytes. With `acceptsGzip` the bytes may be
    /// transferred compressed; the sink gets them decompressed. With `isHeadOnly` no bytes are sent.
    public mutating func queueGet(
        _ id: String, part: String? = nil, range: WireRange? = nil, acceptsGzip: Bool = false,
        isHeadOnly: Bool = false
    ) throws(ClientError) -> UInt32 {
        let flags = Get.flags(acceptsGzip: acceptsGzip, range: range, isHeadOnly: isHeadOnly)
        return try queue(.get, flags: flags) { (out) throws(ProtocolError) in
            try Get.Request.compose(id: id, part: part, range: range, into: &out)
        }
    }

    /// Like `queueGet`, by digest.
    public mutating func queueGetBlob(
        _ digest: PayloadDigest, range: WireRange? = nil, acceptsGzip: Bool = false,
        isHeadOnly: Bool = false
    ) throws(ClientError) -> UInt32 {
        let flags = Get.flags(acceptsGzip: acceptsGzip, range: range, isHeadOnly: isHeadOnly)
        let bytes = digest.bytes
        return try queue(.getBlob, flags: flags) { (out) throws(ProtocolError) in
            try GetBlob.Request.compose(digest: bytes.span.bytes, range: range, into: &out)
        }
    }

    /// Queues a call with a copy of its body. The answer is `called`, for the call's `read`.
    public mutating func queueCall<Answer>(
        _ call: DaemonCall<Answer>
    ) throws(ClientError) -> UInt32 {
        let requestID = try queueHead(of: call)
        queueBody(call.body.span.bytes)
        return requestID
    }

    /// Queues a call without its body, which must be sent next.
    mutating func queueHead<Answer>(
        of call: DaemonCall<Answer>
    ) throws(ClientError) -> UInt32 {
        var flags = call.condition.flags
        if call.coding == .gzip { flags.insert(.bodyIsGzip) }
        return try queue(.call, flags: flags, bodyByteCount: UInt64(call.body.count)) {
            (out) throws(ProtocolError) in
            try Call.Request.compose(
                call.method, target: call.target, device: call.device, mediaType: call.mediaType,
                condition: call.condition, into: &out)
        }
    }

    /// Queues a subscription to an owner's changes. It is answered with `changes` repeatedly, until it has `failed`.
    /// The connection cannot be used for anything else.
    ///
    /// - Parameters:
    ///   - owner: whose changes.
    ///   - since: `0`, `latest`, or a cursor.
    ///   - limit: the most changes in one answer, 1…1,000.
    ///   - filter: notifications that do not match are reported as left, without their records.
    public mutating func queueWatch(
        of owner: String, since: String = "0", limit: Int = 100,
        matching filter: NotificationFilter = NotificationFilter()
    ) throws(ClientError) -> UInt32 {
        try refuseEmpty([
            (filter.group, .badGroup, "group"), (filter.app, .badApp, "app"),
            (filter.platform, .badPlatform, "platform"),
            (filter.targetHost, .badTargetHost, "target host"),
        ])
        if filter.status != nil {
            throw .invalid(
                ProtocolError(.badQuery, "a watch has no status: ask for pages of changes"))
        }
        return try queue(.watch) { (out) throws(ProtocolError) in
            try Watch.Request.compose(
                limit: limit, owner: owner, cursor: since, isRead: filter.isRead,
                actionState: filter.actionState?.rawValue, group: filter.group ?? "",
                app: filter.app ?? "", platform: filter.platform ?? "",
                targetHost: filter.targetHost ?? "", into: &out)
        }
    }
}

/// Throws `invalid` for an empty text, which on the wire looks like an absent one.
func refuseEmpty(
    _ texts: [(text: String?, code: ErrorCode, name: String)]
) throws(ClientError) {
    for (text, code, name) in texts where text == "" {
        throw .invalid(ProtocolError(code, "the \(name) must not be empty"))
    }
}

struct UnansweredRequest: Sendable {
    var id: UInt32
    var operation: Opcode
    var flags: RequestFlags
}
