import BlobJSON
public import BlobProtocol

extension DaemonCall where Answer == NotificationRecord {
    /// Describes a notification. Throws `notFound` and `expired`.
    public static func stat(_ id: String) throws(ClientError) -> Self {
        Self(.get, try .notification(id), reading: NotificationRecord.init)
    }

    /// Changes a notification, and returns its new state. A patch that changes nothing keeps the revision. Throws
    /// `notFound`, `expired` and `preconditionFailed`.
    public static func patch(
        _ id: String, _ patch: PatchRequest, device: String? = nil,
        condition: CallCondition = .none
    ) throws(ClientError) -> Self {
        Self(
            .patch, try .notification(id), body: patch.document,
            mediaType: DocumentType.mergePatch, device: device, condition: condition,
            reading: NotificationRecord.init)
    }
}

extension DaemonCall where Answer == NotificationPage {
    /// A page of all notifications, in the byte order of their ids.
    ///
    /// - Parameters:
    ///   - limit: the most notifications, 1…1,000. A page may have fewer without being the last.
    ///   - after: the id after which the page begins; nil: from the start.
    public static func list(
        limit: Int = 1_000, after: String? = nil
    ) throws(ClientError) -> Self {
        if let after, !after.isEmpty { try CallTarget.check(after, .id) }
        return Self(
            .get, CallTarget("/v1/notifications", [("limit", "\(limit)"), ("after", after)]),
            reading: NotificationPage.init)
    }
}

extension DaemonCall where Answer == Void {
    /// Removes a notification with all its parts. Throws `notFound` if it does not exist, and `preconditionFailed`.
    public static func delete(
        _ id: String, device: String? = nil, condition: CallCondition = .none
    ) throws(ClientError) -> Self {
        Self(
            .delete, try .notification(id), device: device, condition: condition, read: { _ in })
    }
}

extension DaemonCall where Answer == PublishReceipt {
    /// Stores a whole notification with all its parts in one transaction, replacing an existing one. Throws
    /// `preconditionFailed`. Copies the bytes of its parts into one body.
    public static func publish(
        _ upload: NotificationUpload, device: String? = nil, condition: CallCondition = .none
    ) throws(ClientError) -> Self {
        let body = upload.body()
        let target: CallTarget =
            if let id = upload.id { try .notification(id) } else { CallTarget("/v1/notifications") }
        return Self(
            upload.id == nil ? .post : .put, target, body: body.bytes, mediaType: body.mediaType,
            device: device, condition: condition, read: PublishReceipt.init)
    }
}

extension DaemonCall where Answer == [BatchResult] {
    /// Stores many notifications, at most 1,000 in 8 MiB, independently of each other, and returns the outcome of each,
    /// in order. Their parts must already be stored (`storeBlob`): throws `invalid` for a part with bytes.
    public static func publishBatch(
        _ uploads: [NotificationUpload], device: String? = nil
    ) throws(ClientError) -> Self {
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
        return publishBatch(lines: lines, device: device)
    }

    /// Stores many notifications, given as lines of JSON documents.
    public static func publishBatch(lines: [UInt8], device: String? = nil) -> Self {
        Self(
            .post, CallTarget("/v1/notifications:batch"), body: lines,
            mediaType: DocumentType.jsonLines, device: device,
            read: { (answer) throws(ClientError) in
                var results: [BatchResult] = []
                for line in answer.body.split(separator: UInt8(ascii: "\n")) {
                    results.append(try readDocument(Array(line), BatchResult.init))
                }
                return results
            })
    }
}

extension DaemonCall where Answer == HeldBlobReceipt {
    /// Stores bytes before the notifications that will refer to them by digest. Copies the bytes.
    ///
    /// - Parameters:
    ///   - bytes: the bytes to store.
    ///   - digest: their digest, which the daemon verifies, or nil.
    ///   - mediaType: determines whether they are compressed; nil: they are not.
    ///   - ttlSeconds: how long they are kept while nothing refers to them; nil: an hour.
    ///   - coding: how they are coded. A gzip coding is decoded before it is stored.
    public static func storeBlob(
        _ bytes: [UInt8], as digest: PayloadDigest? = nil, mediaType: String? = nil,
        ttlSeconds: Int64? = nil, coding: WireCoding = .identity
    ) -> Self {
        // The colon in the digest belongs to the path.
        let target = CallTarget(
            "/v1/blobs" + (digest.map { "/\($0)" } ?? ""),
            [("ttl", ttlSeconds.map { "\($0)" })])
        var call = Self(
            digest == nil ? .post : .put, target, body: bytes, mediaType: mediaType,
            read: HeldBlobReceipt.init)
        call.coding = coding
        return call
    }
}

extension DaemonCall where Answer == ResponseReceipt {
    /// Records a user's choice. Throws `notFound` and `expired`, and `refused` with `unknown_action` and
    /// `response_conflict`.
    public static func respond(
        to id: String, _ response: ResponseRequest, device: String? = nil
    ) throws(ClientError) -> Self {
        Self(
            .post, try .notification(id, "/responses"), body: response.document,
            mediaType: DocumentType.json, device: device, read: ResponseReceipt.init)
    }
}

extension DaemonCall where Answer == RenderedEnvelope {
    /// The push to send for a notification, and the fields of the request for it. Throws `notFound` and `expired`, and
    /// `refused` with `envelope_too_large` or, for an alert without title and message, `no_message`.
    ///
    /// - Parameters:
    ///   - id: the notification.
    ///   - platform: the push service.
    ///   - style: how the push is shown; nil: as an alert by a browser, and otherwise silently.
    ///   - token: the device's registration token, which is part of FCM's push; nil for other services, where it is in
    ///     the request's URL.
    ///   - page: the absolute URL that a click on a Web Push opens, which makes it a declarative one.
    public static func envelope(
        _ id: String, _ platform: EnvelopePlatform, style: EnvelopeStyle? = nil,
        token: String? = nil, page: String? = nil
    ) throws(ClientError) -> Self {
        let query: CallTarget.Query = [
            ("platform", platform.rawValue), ("style", style?.rawValue), ("format", "json"),
            ("token", token), ("navigate", page),
        ]
        return Self(
            .get, try .notification(id, "/envelope", query), reading: RenderedEnvelope.init)
    }
}
