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
        let flags = Get.flags(
            acceptsGzip: acceptsGzip, range: range, isHeadOnly: isHeadOnly, isByDigest: true)
        let bytes = digest.bytes
        return try queue(.get, flags: flags) { (out) throws(ProtocolError) in
            try Get.Request.compose(digest: bytes.span.bytes, range: range, into: &out)
        }
    }

    /// Queues a call with a copy of its body. The answer is `called`, for the call's `read`.
    ///
    /// As a watch, which only the call for an owner's changes can be, it is answered at once, and again whenever there are
    /// more changes, until an answer does not continue. The connection cannot be used for anything else.
    public mutating func queueCall<Answer>(
        _ call: DaemonCall<Answer>, isWatch: Bool = false
    ) throws(ClientError) -> UInt32 {
        let requestID = try queueHead(of: call, isWatch: isWatch)
        queueBody(call.body.span.bytes)
        return requestID
    }

    /// Queues a call without its body, which must be sent next.
    mutating func queueHead<Answer>(
        of call: DaemonCall<Answer>, isWatch: Bool = false
    ) throws(ClientError) -> UInt32 {
        var flags = call.condition.flags
        if isWatch { flags.insert(.watch) }
        if call.coding == .gzip { flags.insert(.bodyIsGzip) }
        return try queue(.call, flags: flags, bodyByteCount: UInt64(call.body.count)) {
            (out) throws(ProtocolError) in
            try Call.Request.compose(
                call.method, target: call.target, device: call.device, mediaType: call.mediaType,
                condition: call.condition, into: &out)
        }
    }
}

struct UnansweredRequest: Sendable {
    var id: UInt32
    var operation: Opcode
    var flags: RequestFlags
}
