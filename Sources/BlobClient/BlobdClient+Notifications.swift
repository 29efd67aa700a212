public import BlobProtocol

// The calls of `BlobConnection` for notifications, owners and categories. For a missing
// notification or category they return nil, or false, and throw nothing.
extension BlobdClient {
    /// Calls one of HTTP's resources.
    public func call(
        _ method: CallMethod, _ target: String, body: [UInt8] = [], mediaType: String? = nil,
        device: String? = nil, condition: CallCondition = .none
    ) throws(ClientError) -> CallAnswer {
        try with { (connection) throws(ClientError) in
            try connection.call(
                method, target, body: body, mediaType: mediaType, device: device,
                condition: condition)
        }
    }

    /// Stores a whole notification with all its parts in one transaction. When this returns it is
    /// on the daemon's disk.
    @discardableResult
    public func publish(
        _ upload: NotificationUpload, device: String? = nil, condition: CallCondition = .none
    ) throws(ClientError) -> PublishReceipt {
        try with { (connection) throws(ClientError) in
            try connection.publish(upload, device: device, condition: condition)
        }
    }

    /// Stores many notifications, at most 1,000, each all or nothing by itself. Their parts must be
    /// stored already (`putBlob`).
    public func publishBatch(
        _ uploads: [NotificationUpload], device: String? = nil
    ) throws(ClientError) -> [BatchResult] {
        try with { (connection) throws(ClientError) in
            try connection.publishBatch(uploads, device: device)
        }
    }

    /// Stores bytes ahead of the notifications that will refer to them by their digest, for an hour
    /// or `ttlSeconds`.
    @discardableResult
    public func putBlob(
        _ bytes: [UInt8], mediaType: String? = nil, ttlSeconds: Int64? = nil
    ) throws(ClientError) -> HeldBlobReceipt {
        try with { (connection) throws(ClientError) in
            try connection.putBlob(bytes, mediaType: mediaType, ttlSeconds: ttlSeconds)
        }
    }

    /// Stores bytes ahead of the notifications that will refer to them, for an hour or `ttlSeconds`.
    /// The daemon tells their digest. Of a gzip coding, what is inside is stored.
    @discardableResult
    public func storeBlob(
        _ bytes: [UInt8], mediaType: String? = nil, ttlSeconds: Int64? = nil,
        coding: WireCoding = .identity
    ) throws(ClientError) -> HeldBlobReceipt {
        try with { (connection) throws(ClientError) in
            try connection.storeBlob(
                bytes, mediaType: mediaType, ttlSeconds: ttlSeconds, coding: coding)
        }
    }

    /// Changes a notification. Nil when there is none, or it has expired. Throws
    /// `preconditionFailed`.
    @discardableResult
    public func patch(
        _ id: String, _ patch: PatchRequest, device: String? = nil,
        condition: CallCondition = .none
    ) throws(ClientError) -> NotificationRecord? {
        try ifThere { (connection) throws(ClientError) in
            try connection.patch(id, patch, device: device, condition: condition)
        }
    }

    /// Changes all of an owner's notifications of a group, or those of them that are one app's.
    @discardableResult
    public func patchGroup(
        _ group: String, of owner: String, app: String? = nil, _ patch: PatchRequest,
        device: String? = nil
    ) throws(ClientError) -> GroupReceipt {
        try with { (connection) throws(ClientError) in
            try connection.patchGroup(group, of: owner, app: app, patch, device: device)
        }
    }

    /// Removes all of an owner's notifications of a group, or those of them that are one app's. Each
    /// is told in the feed. Returns how many there were.
    @discardableResult
    public func deleteGroup(
        _ group: String, of owner: String, app: String? = nil, device: String? = nil
    ) throws(ClientError) -> Int {
        try with { (connection) throws(ClientError) in
            try connection.deleteGroup(group, of: owner, app: app, device: device)
        }
    }

    /// Records what a user chose. Nil when there is no such notification, or it has expired.
    @discardableResult
    public func respond(
        to id: String, _ response: ResponseRequest, device: String? = nil
    ) throws(ClientError) -> ResponseReceipt? {
        try ifThere { (connection) throws(ClientError) in
            try connection.respond(to: id, response, device: device)
        }
    }

    /// Removes a notification and says who did it. Returns false when there was none. Throws
    /// `preconditionFailed`.
    @discardableResult
    public func delete(
        _ id: String, device: String?, condition: CallCondition = .none
    ) throws(ClientError) -> Bool {
        try ifThere { (connection) throws(ClientError) in
            try connection.delete(id, device: device, condition: condition)
        } != nil
    }

    /// Removes all of an owner's notifications. Returns how many there were.
    @discardableResult
    public func deleteOwner(
        _ owner: String, device: String? = nil
    ) throws(ClientError) -> Int {
        try with { (connection) throws(ClientError) in
            try connection.deleteOwner(owner, device: device)
        }
    }

    /// A page of an owner's notifications, newest first.
    public func history(
        of owner: String, _ request: HistoryRequest = HistoryRequest()
    ) throws(ClientError) -> NotificationHistory {
        try with { (connection) throws(ClientError) in
            try connection.history(of: owner, request)
        }
    }

    /// A page of an owner's changes. While it waits, at most 60 s, the client's other calls wait
    /// too; `changes(of:since:)` does not hold them up. Throws `resync`.
    public func changes(
        of owner: String, since: String, limit: Int, waitSeconds: Int = 0,
        matching filter: NotificationFilter = NotificationFilter()
    ) throws(ClientError) -> ChangePage {
        try with { (connection) throws(ClientError) in
            try connection.changes(
                of: owner, since: since, limit: limit, waitSeconds: waitSeconds,
                matching: filter)
        }
    }

    /// The push to send for a notification, and the fields of the request that carries it. Nil when there is none, or it has expired.
    public func envelope(
        _ id: String, _ platform: EnvelopePlatform, style: EnvelopeStyle = .silent,
        token: String? = nil
    ) throws(ClientError) -> RenderedEnvelope? {
        try ifThere { (connection) throws(ClientError) in
            try connection.envelope(id, platform, style: style, token: token)
        }
    }

    /// Gives a category its actions and options, for the notifications of one app, or of all that
    /// have no own one of that name. Owners with a notification of it are told so in their feeds,
    /// before this returns. Throws `preconditionFailed`.
    @discardableResult
    public func setCategory(
        _ name: String, _ actions: [NotificationRecord.Action],
        options: [NotificationCategory.Option] = [], app: String? = nil,
        condition: CallCondition = .none
    ) throws(ClientError) -> CategoryReceipt {
        try with { (connection) throws(ClientError) in
            try connection.setCategory(
                name, actions, options: options, app: app, condition: condition)
        }
    }

    /// A category of one app, or of all. Nil when there is none.
    public func category(
        _ name: String, app: String? = nil
    ) throws(ClientError) -> NotificationCategory? {
        try ifThere { (connection) throws(ClientError) in
            try connection.category(name, app: app)
        }
    }

    /// All categories, by name and app.
    public func categories() throws(ClientError) -> [NotificationCategory] {
        try with { (connection) throws(ClientError) in try connection.categories() }
    }

    /// Removes a category of one app, or of all; notifications keep its name. Returns false when
    /// there was none. Throws `preconditionFailed`.
    @discardableResult
    public func deleteCategory(
        _ name: String, app: String? = nil, condition: CallCondition = .none
    ) throws(ClientError) -> Bool {
        try ifThere { (connection) throws(ClientError) in
            try connection.deleteCategory(name, app: app, condition: condition)
        } != nil
    }
}
