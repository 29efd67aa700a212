public import BlobProtocol

// Each call appends one request to those that the next `flush` or `receive` sends, and returns the
// number that its answer will have. All throw `invalid` for what the daemon would refuse,
// `tooManyUnanswered` over `DaemonInfo.requestsInFlightMax`, and the connection's `failure` once it
// has failed.
extension BlobConnection {
    /// Queues a ping. Answered `done` when the store can commit.
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
        let draft = try request.draft()
        return try queue(.put, flags: draft.flags, bodyByteCount: byteCount) {
            (out) throws(ProtocolError) in
            try draft.compose(into: &out)
        }
    }

    /// Queues a get of a part (nil: `payload`), or of a range of its bytes as given. With
    /// `acceptsGzip` the bytes may travel compressed; the sink gets them as given all the same.
    /// With `isHeadOnly` no bytes come at all.
    public mutating func queueGet(
        _ id: String, part: String? = nil, range: WireRange? = nil, acceptsGzip: Bool = false,
        isHeadOnly: Bool = false
    ) throws(ClientError) -> UInt32 {
        let flags = Get.flags(acceptsGzip: acceptsGzip, range: range, isHeadOnly: isHeadOnly)
        return try queue(.get, flags: flags) { (out) throws(ProtocolError) in
            try Get.Request.compose(id: id, part: part, range: range, into: &out)
        }
    }

    /// Queues a get by digest. The rest is as with `queueGet`.
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

    /// Queues a question about a notification. Answered with its record as a JSON document.
    public mutating func queueStat(_ id: String) throws(ClientError) -> UInt32 {
        try queue(.stat) { (out) throws(ProtocolError) in
            try Stat.Request.compose(id: id, into: &out)
        }
    }

    /// Queues the removal of a notification with all its parts. Answered `done` when that is on
    /// disk.
    public mutating func queueDelete(_ id: String) throws(ClientError) -> UInt32 {
        try queue(.delete) { (out) throws(ProtocolError) in
            try Stat.Request.compose(id: id, into: &out)
        }
    }

    /// Queues a question about the daemon's counters. Answered with a JSON document.
    public mutating func queueStats() throws(ClientError) -> UInt32 {
        try queue(.stats)
    }

    /// Queues a page of a list: at most `limit` (1…1,000) notifications whose ids come after
    /// `after` in byte order. Answered with a JSON document.
    public mutating func queueList(
        limit: Int, after: String? = nil
    ) throws(ClientError) -> UInt32 {
        try queue(.list) { (out) throws(ProtocolError) in
            try List.Request.compose(limit: limit, after: after, into: &out)
        }
    }

    /// Queues a call of one of HTTP's resources, with its body. Answered `called`.
    ///
    /// - Parameters:
    ///   - method: the method.
    ///   - target: path and query, percent-encoded, 1…8,000 bytes.
    ///   - body: the body.
    ///   - mediaType: the body's.
    ///   - device: who asks, 1…64 bytes; others learn of it with the change.
    ///   - condition: what must hold of the notification.
    ///   - coding: how the body is coded.
    public mutating func queueCall(
        _ method: CallMethod, _ target: String, body: RawSpan = RawSpan(),
        mediaType: String? = nil, device: String? = nil, condition: CallCondition = .none,
        coding: WireCoding = .identity
    ) throws(ClientError) -> UInt32 {
        let requestID = try queueCallHead(
            method, target, bodyByteCount: body.byteCount, mediaType: mediaType, device: device,
            condition: condition, coding: coding)
        queueBody(body)
        return requestID
    }

    /// Queues a call without its body, which must be sent next.
    mutating func queueCallHead(
        _ method: CallMethod, _ target: String, bodyByteCount: Int, mediaType: String?,
        device: String?, condition: CallCondition, coding: WireCoding
    ) throws(ClientError) -> UInt32 {
        var flags = condition.flags
        if coding == .gzip { flags.insert(.bodyIsGzip) }
        return try queue(.call, flags: flags, bodyByteCount: UInt64(bodyByteCount)) {
            (out) throws(ProtocolError) in
            try Call.Request.compose(
                method, target: target, device: device, mediaType: mediaType, condition: condition,
                into: &out)
        }
    }

    /// Queues a subscription to an owner's changes. It is answered `changes` again and again, until
    /// it has `failed`; nothing else can be asked on the connection any more.
    ///
    /// - Parameters:
    ///   - owner: whose changes.
    ///   - since: `0`, `latest`, or a cursor.
    ///   - limit: the most changes in one answer, 1…1,000.
    ///   - filter: what does not match it is reported as left, without its record.
    public mutating func queueWatch(
        of owner: String, since: String = "0", limit: Int = 100,
        matching filter: NotificationFilter = NotificationFilter()
    ) throws(ClientError) -> UInt32 {
        // The wire has no place for a text that is there and empty.
        if filter.group == "" {
            throw .invalid(ProtocolError(.badGroup, "the group must not be empty"))
        }
        if filter.app == "" { throw .invalid(ProtocolError(.badApp, "the app must not be empty")) }
        if filter.platform == "" {
            throw .invalid(ProtocolError(.badPlatform, "the platform must not be empty"))
        }
        if filter.targetHost == "" {
            throw .invalid(ProtocolError(.badTargetHost, "the target host must not be empty"))
        }
        if filter.status != nil {
            throw .invalid(
                ProtocolError(.badQuery, "a watch has no status: ask for pages of changes"))
        }
        return try queue(.watch) { (out) throws(ProtocolError) in
            try Watch.Request.compose(
                limit: limit, owner: owner, cursor: since, isRead: filter.isRead,
                actionState: filter.actionState?.wireValue, group: filter.group ?? "",
                app: filter.app ?? "", platform: filter.platform ?? "",
                targetHost: filter.targetHost ?? "", into: &out)
        }
    }
}

extension NotificationRecord.ActionState {
    /// Its number in the binary protocol.
    fileprivate var wireValue: UInt8 {
        switch self {
        case .none: 0
        case .activated: 1
        case .dismissed: 2
        case .snoozed: 3
        }
    }
}

/// What a call does with its resource.
public typealias CallMethod = Call.Method

/// What must hold of the notification for a call to be carried out.
public typealias CallCondition = Call.Condition
