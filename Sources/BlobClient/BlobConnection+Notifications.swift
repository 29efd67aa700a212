import BlobJSON
public import BlobProtocol
import Notifications

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
            try Self.notification(id).text
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
            .patch, try Self.notification(id).text, body: patch.document,
            mediaType: Self.mergePatch, device: device, condition: condition)
    }

    /// Changes all of an owner's notifications of a group, or those of them that are one app's, in
    /// as many transactions as it takes.
    @discardableResult
    public mutating func patchGroup(
        _ group: String, of owner: String, app: String? = nil, _ patch: PatchRequest,
        device: String? = nil
    ) throws(ClientError) -> GroupReceipt {
        var target = try Self.user(owner, "/notifications")
        target.add("group", group)
        target.add("app", app)
        let answer = try call(
            .patch, target.text, body: patch.document, mediaType: Self.mergePatch, device: device)
        let reader = try DocumentReader(answer.body)
        return GroupReceipt(
            matchedCount: try reader.integer("matched"), changedCount: try reader.integer("changed")
        )
    }

    /// Removes all of an owner's notifications of a group, or those of them that are one app's, in
    /// as many transactions as it takes. Each is told in the feed. Returns how many there were.
    @discardableResult
    public mutating func deleteGroup(
        _ group: String, of owner: String, app: String? = nil, device: String? = nil
    ) throws(ClientError) -> Int {
        var target = try Self.user(owner, "/notifications")
        target.add("group", group)
        target.add("app", app)
        let answer = try call(.delete, target.text, device: device)
        return try DocumentReader(answer.body).integer("deleted")
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
            .post, try Self.notification(id, "/responses").text, body: response.document,
            mediaType: Self.json, device: device)
    }

    /// Removes a notification and says who did it. Throws `notFound`, `preconditionFailed`.
    public mutating func delete(
        _ id: String, device: String?, condition: CallCondition = .none
    ) throws(ClientError) {
        _ = try call(
            .delete, try Self.notification(id).text, device: device, condition: condition)
    }

    /// Removes all of an owner's notifications, in as many transactions as it takes. Returns how
    /// many there were.
    @discardableResult
    public mutating func deleteOwner(
        _ owner: String, device: String? = nil
    ) throws(ClientError) -> Int {
        let answer = try call(.delete, try Self.user(owner).text, device: device)
        return try DocumentReader(answer.body).integer("deleted")
    }

    /// A page of an owner's notifications, newest first.
    public mutating func history(
        of owner: String, _ request: HistoryRequest = HistoryRequest()
    ) throws(ClientError) -> NotificationHistory {
        try NotificationHistory(document: try historyDocument(of: owner, request))
    }

    /// The JSON document that `history` reads.
    public mutating func historyDocument(
        of owner: String, _ request: HistoryRequest = HistoryRequest()
    ) throws(ClientError) -> [UInt8] {
        var target = try Self.user(owner, "/notifications")
        target.add("limit", "\(request.limit)")
        target.add("before", request.before)
        request.filter.add(to: &target)
        return try call(.get, target.text).body
    }

    /// A page of an owner's changes. Throws `resync` when the daemon does not remember that far
    /// back.
    ///
    /// - Parameters:
    ///   - owner: whose changes.
    ///   - since: `0` for everything there is, `latest` for what comes from now on, or a cursor.
    ///   - limit: the most changes, 1…1,000.
    ///   - waitSeconds: how long to wait for a change when there is none, at most 60.
    ///   - filter: what does not match it is reported as left, without its record.
    public mutating func changes(
        of owner: String, since: String = "0", limit: Int = 100, waitSeconds: Int = 0,
        matching filter: NotificationFilter = NotificationFilter()
    ) throws(ClientError) -> ChangePage {
        try ChangePage(
            document: try changesDocument(
                of: owner, since: since, limit: limit, waitSeconds: waitSeconds,
                matching: filter))
    }

    /// The JSON document that `changes` reads.
    public mutating func changesDocument(
        of owner: String, since: String = "0", limit: Int = 100, waitSeconds: Int = 0,
        matching filter: NotificationFilter = NotificationFilter()
    ) throws(ClientError) -> [UInt8] {
        var target = try Self.user(owner, "/changes")
        target.add("since", since)
        target.add("limit", "\(limit)")
        if waitSeconds != 0 { target.add("wait", "\(waitSeconds)") }
        filter.add(to: &target)
        let timeout = options.timeoutMilliseconds
        if timeout > 0, (0...WireLimits.waitSecondsMax).contains(waitSeconds) {
            // The daemon is silent for as long as it was asked to be.
            socket.setTimeout(milliseconds: timeout + waitSeconds * 1_000)
        }
        defer { socket.setTimeout(milliseconds: timeout) }
        return try call(.get, target.text).body
    }

    /// The push to send for a notification, and the fields of the request that carries it. Throws `refused` with `envelope_too_large` over the
    /// provider's limit, and with `no_message` for an alert that has nothing to say.
    public mutating func envelope(
        _ id: String, _ platform: EnvelopePlatform, style: EnvelopeStyle = .silent
    ) throws(ClientError) -> RenderedEnvelope {
        try RenderedEnvelope(document: try envelopeDocument(id, platform, style: style))
    }

    /// The JSON document that `envelope` reads.
    public mutating func envelopeDocument(
        _ id: String, _ platform: EnvelopePlatform, style: EnvelopeStyle = .silent
    ) throws(ClientError) -> [UInt8] {
        var target = try Self.notification(id, "/envelope")
        target.add("platform", platform.rawValue)
        target.add("style", style.rawValue)
        target.add("format", "json")
        return try call(.get, target.text).body
    }

    /// Gives a category its actions and options, for the notifications of one app, or of all that
    /// have no own one of that name. Owners with a notification of it are told so in their feeds,
    /// before this returns. One that says what is there already stays as it is, revision and all.
    /// Throws `preconditionFailed`.
    @discardableResult
    public mutating func setCategory(
        _ name: String, _ actions: [NotificationRecord.Action],
        options: [NotificationCategory.Option] = [], app: String? = nil,
        condition: CallCondition = .none
    ) throws(ClientError) -> CategoryReceipt {
        var document = DocumentBuilder()
        document.add("actions", .array(actions.map(\.json)))
        if !options.isEmpty {
            document.add("options", .array(options.map { .string($0.rawValue) }))
        }
        let target = try Self.category(name, app).text
        let answer = try call(
            .put, target, body: document.bytes, mediaType: Self.json, condition: condition)
        return CategoryReceipt(
            category: try NotificationCategory(DocumentReader(answer.body)),
            isCreated: answer.status == 201)
    }

    /// A category of one app, or of all. Throws `notFound`.
    public mutating func category(
        _ name: String, app: String? = nil
    ) throws(ClientError) -> NotificationCategory {
        try NotificationCategory(DocumentReader(try categoryDocument(name, app: app)))
    }

    /// The JSON document that `category` reads.
    public mutating func categoryDocument(
        _ name: String, app: String? = nil
    ) throws(ClientError) -> [UInt8] {
        try call(.get, try Self.category(name, app).text).body
    }

    /// All categories, by name and app. The daemon answers them page by page.
    public mutating func categories() throws(ClientError) -> [NotificationCategory] {
        var all: [NotificationCategory] = []
        var next: String?
        repeat {
            let reader = try DocumentReader(try categoriesDocument(after: next))
            all += try reader.list("categories", NotificationCategory.init)
            next = try reader.optionalText("next")
        } while next != nil
        return all
    }

    /// A page of the JSON document that `categories` reads. Its `next` is The cursor behind which the
    /// next page begins; the last page has none.
    public mutating func categoriesDocument(
        after cursor: String? = nil
    ) throws(ClientError) -> [UInt8] {
        var target = CallTarget("/v1/categories")
        target.add("after", cursor)
        return try call(.get, target.text).body
    }

    /// Removes a category of one app, or of all; notifications keep its name. Throws `notFound`,
    /// `preconditionFailed`.
    public mutating func deleteCategory(
        _ name: String, app: String? = nil, condition: CallCondition = .none
    ) throws(ClientError) {
        _ = try call(.delete, try Self.category(name, app).text, condition: condition)
    }

    // MARK: Targets

    private static let notifications = "/v1/notifications"
    private static let json = "application/json"
    private static let mergePatch = "application/merge-patch+json"

    // What the daemon would not take for a name is refused here: an empty one would make another
    // resource of the target.

    private static func notification(
        _ id: String, _ suffix: String = ""
    ) throws(ClientError) -> CallTarget {
        try check(id, .id)
        return CallTarget(notifications + "/", id, suffix)
    }

    private static func user(
        _ owner: String, _ suffix: String = ""
    ) throws(ClientError) -> CallTarget {
        try check(owner, .owner)
        return CallTarget("/v1/users/", owner, suffix)
    }

    private static func category(
        _ name: String, _ app: String?
    ) throws(ClientError) -> CallTarget {
        guard !name.isEmpty else {
            throw .invalid(ProtocolError(.badCategory, "the category must not be empty"))
        }
        var target = CallTarget("/v1/categories/", name)
        target.add("app", app)
        return target
    }

    private static func check(_ name: String, _ kind: TextKind) throws(ClientError) {
        do throws(ProtocolError) {
            try kind.check(name.utf8.span.bytes)
        } catch {
            throw .invalid(error)
        }
    }
}
