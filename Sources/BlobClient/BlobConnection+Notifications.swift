import BlobJSON
public import BlobProtocol

// Notifications beyond their payloads: HTTP's resources, called over the binary protocol. One
// request, one answer; what docs/HTTP.md says of a resource holds here. All throw `refused` with the
// daemon's code, and an old daemon's `method_not_allowed`.
extension BlobConnection {
    /// Calls one of HTTP's resources: the same target, the same body, the same document.
    ///
    /// - Parameters:
    ///   - method: the method.
    ///   - target: path and query, percent-encoded, 1…8,000 bytes.
    ///   - body: the body.
    ///   - mediaType: the body's.
    ///   - device: who asks, 1…64 bytes; others learn of it with the change.
    ///   - condition: what must hold of the notification, or `preconditionFailed` is thrown.
    ///   - coding: how the body is coded. Blobs may be coded with gzip.
    public mutating func call(
        _ method: CallMethod, _ target: String, body: [UInt8] = [], mediaType: String? = nil,
        device: String? = nil, condition: CallCondition = .none, coding: WireCoding = .identity
    ) throws(ClientError) -> CallAnswer {
        _ = try queueCallHead(
            method, target, bodyByteCount: body.count, mediaType: mediaType, device: device,
            condition: condition, coding: coding)
        try flush()
        try send(body.span.bytes)
        let outcome = try answer()
        guard case .called(let answer) = outcome else { throw unexpected(outcome) }
        return answer
    }

    /// Stores a whole notification with all its parts in one transaction. When this returns it is
    /// on the daemon's disk.
    @discardableResult
    public mutating func publish(
        _ upload: NotificationUpload, device: String? = nil, condition: CallCondition = .none
    ) throws(ClientError) -> PublishReceipt {
        let answer = try publishAnswer(upload, device: device, condition: condition)
        return PublishReceipt(
            notification: try NotificationRecord(document: answer.body),
            isCreated: answer.status == 201)
    }

    /// The answer that `publish` reads.
    package mutating func publishAnswer(
        _ upload: NotificationUpload, device: String? = nil, condition: CallCondition = .none
    ) throws(ClientError) -> CallAnswer {
        let body = upload.body(withID: false)
        let target = try upload.id.map { (id) throws(ClientError) in
            try CallTarget.notification(id).text
        }
        return try call(
            target == nil ? .post : .put, target ?? Self.notifications, body: body.bytes,
            mediaType: body.mediaType, device: device, condition: condition)
    }

    /// Stores many notifications, at most 1,000, each all or nothing by itself. Their parts must be
    /// stored already (`putBlob`). Returns what came of each, in order.
    public mutating func publishBatch(
        _ uploads: [NotificationUpload], device: String? = nil
    ) throws(ClientError) -> [BatchResult] {
        var lines: [UInt8] = []
        for upload in uploads {
            guard !upload.hasFiles else {
                throw .invalid(
                    ProtocolError(
                        .partMissing, "a part in a batch must name a stored blob by its digest"))
            }
            upload.document(withID: true).append(to: &lines)
            lines.append(UInt8(ascii: "\n"))
        }
        return try publishBatch(lines: lines, device: device)
    }

    /// The same with the JSON lines themselves: at most 1,000 in 8 MiB.
    public mutating func publishBatch(
        lines: [UInt8], device: String? = nil
    ) throws(ClientError) -> [BatchResult] {
        let answer = try call(
            .post, Self.notifications + ":batch", body: lines, mediaType: "application/x-ndjson",
            device: device)
        var results: [BatchResult] = []
        for line in answer.body.split(separator: UInt8(ascii: "\n")) {
            results.append(try BatchResult(document: Array(line)))
        }
        return results
    }

    /// Stores bytes ahead of the notifications that will refer to them by their digest.
    ///
    /// - Parameters:
    ///   - bytes: what is stored.
    ///   - mediaType: decides whether they are compressed; nil: they are not.
    ///   - ttlSeconds: how long they are kept though nothing refers to them; nil: an hour.
    @discardableResult
    public mutating func putBlob(
        _ bytes: [UInt8], mediaType: String? = nil, ttlSeconds: Int64? = nil
    ) throws(ClientError) -> HeldBlobReceipt {
        let digest = PayloadDigest(of: bytes.span.bytes)
        // The colon is the path's own.
        var target = CallTarget("/v1/blobs/\(digest)")
        target.add("ttl", ttlSeconds.map { "\($0)" })
        return try HeldBlobReceipt(
            try call(.put, target.text, body: bytes, mediaType: mediaType))
    }

    /// Stores bytes ahead of the notifications that will refer to them. The daemon tells their digest.
    ///
    /// - Parameters:
    ///   - bytes: what is stored.
    ///   - mediaType: decides whether they are compressed; nil: they are not.
    ///   - ttlSeconds: how long they are kept though nothing refers to them; nil: an hour.
    ///   - coding: how they are coded. Of a gzip coding, what is inside is stored.
    @discardableResult
    public mutating func storeBlob(
        _ bytes: [UInt8], mediaType: String? = nil, ttlSeconds: Int64? = nil,
        coding: WireCoding = .identity
    ) throws(ClientError) -> HeldBlobReceipt {
        var target = CallTarget("/v1/blobs")
        target.add("ttl", ttlSeconds.map { "\($0)" })
        return try HeldBlobReceipt(
            try call(.post, target.text, body: bytes, mediaType: mediaType, coding: coding))
    }

    /// Changes a notification. One that is so already stays as it is, revision and all. Throws
    /// `notFound`, `expired`, `preconditionFailed`.
    @discardableResult
    public mutating func patch(
        _ id: String, _ patch: PatchRequest, device: String? = nil,
        condition: CallCondition = .none
    ) throws(ClientError) -> NotificationRecord {
        try NotificationRecord(
            document: try patchAnswer(id, patch, device: device, condition: condition).body)
    }

    /// The answer that `patch` reads.
    package mutating func patchAnswer(
        _ id: String, _ patch: PatchRequest, device: String? = nil,
        condition: CallCondition = .none
    ) throws(ClientError) -> CallAnswer {
        try call(
            .patch, try CallTarget.notification(id).text, body: patch.document,
            mediaType: Self.mergePatch, device: device, condition: condition)
    }

    /// Records what a user chose. Throws `notFound` and `expired`, and `refused` with
    /// `unknown_action` and `response_conflict`.
    @discardableResult
    public mutating func respond(
        to id: String, _ response: ResponseRequest, device: String? = nil
    ) throws(ClientError) -> ResponseReceipt {
        let answer = try respondAnswer(to: id, response, device: device)
        return ResponseReceipt(
            notification: try NotificationRecord(document: answer.body),
            isNew: answer.status == 201)
    }

    /// The answer that `respond` reads.
    package mutating func respondAnswer(
        to id: String, _ response: ResponseRequest, device: String? = nil
    ) throws(ClientError) -> CallAnswer {
        try call(
            .post, try CallTarget.notification(id, "/responses").text, body: response.document,
            mediaType: Self.json, device: device)
    }

    /// Removes a notification and says who did it. Throws `notFound`, `preconditionFailed`.
    public mutating func delete(
        _ id: String, device: String?, condition: CallCondition = .none
    ) throws(ClientError) {
        _ = try call(
            .delete, try CallTarget.notification(id).text, device: device, condition: condition)
    }

    /// The push to send for a notification, and the fields of the request that carries it. Throws `refused` with `envelope_too_large` over the
    /// provider's limit, and with `no_message` for an alert that has nothing to say.
    ///
    /// `token` is the device's registration token, which FCM's push has in its body; nil for other services,
    /// which take it in the request's URL.
    public mutating func envelope(
        _ id: String, _ platform: EnvelopePlatform, style: EnvelopeStyle = .silent,
        token: String? = nil
    ) throws(ClientError) -> RenderedEnvelope {
        try RenderedEnvelope(
            document: try envelopeDocument(id, platform, style: style, token: token))
    }

    /// The JSON document that `envelope` reads.
    public mutating func envelopeDocument(
        _ id: String, _ platform: EnvelopePlatform, style: EnvelopeStyle = .silent,
        token: String? = nil
    ) throws(ClientError) -> [UInt8] {
        var target = try CallTarget.notification(id, "/envelope")
        target.add("platform", platform.rawValue)
        target.add("style", style.rawValue)
        target.add("format", "json")
        target.add("token", token)
        return try call(.get, target.text).body
    }

    static let json = "application/json"
    static let mergePatch = "application/merge-patch+json"
    private static let notifications = "/v1/notifications"
}
