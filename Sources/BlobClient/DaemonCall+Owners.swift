import BlobJSON
public import BlobProtocol

// All of an owner's notifications, what became of them, and the categories that give them buttons.

extension DaemonCall where Answer == NotificationHistory {
    /// A page of an owner's notifications, newest first, without those that have expired; an empty
    /// one when there are none.
    ///
    /// - Parameters:
    ///   - owner: whose notifications.
    ///   - limit: the most notifications, 1…1,000. A page may have fewer and not be the last.
    ///   - before: only those older than this cursor, from `NotificationHistory.next`.
    ///   - filter: only those that match.
    public static func history(
        of owner: String, limit: Int = 100, before: String? = nil,
        matching filter: NotificationFilter = NotificationFilter()
    ) throws(ClientError) -> Self {
        var target = try CallTarget.user(owner, "/notifications")
        target.add("limit", "\(limit)")
        target.add("before", before)
        filter.add(to: &target)
        return Self(.get, target, reading: NotificationHistory.init)
    }
}

extension DaemonCall where Answer == ChangePage {
    /// A page of an owner's changes; an empty one when there are none. Throws `resync` when the
    /// daemon does not remember that far back.
    ///
    /// - Parameters:
    ///   - owner: whose changes.
    ///   - since: `0` for everything there is, `latest` for what comes from now on, or a cursor.
    ///   - limit: the most changes, 1…1,000. A page may have fewer and not be the last.
    ///   - waitSeconds: how long to wait for a change when there is none, at most 60. The client's
    ///     other calls wait too; `BlobdClient.changes` does not hold them up.
    ///   - filter: what does not match it is reported as left, without its record.
    public static func changes(
        of owner: String, since: String = "0", limit: Int = 100, waitSeconds: Int = 0,
        matching filter: NotificationFilter = NotificationFilter()
    ) throws(ClientError) -> Self {
        var target = try CallTarget.user(owner, "/changes")
        target.add("since", since)
        target.add("limit", "\(limit)")
        if waitSeconds != 0 { target.add("wait", "\(waitSeconds)") }
        filter.add(to: &target)
        var call = Self(.get, target, reading: ChangePage.init)
        call.waitSeconds = waitSeconds
        return call
    }
}

extension DaemonCall where Answer == GroupReceipt {
    /// Changes all of an owner's notifications of a group, or those of them that are one app's, in
    /// as many transactions as it takes.
    public static func patchGroup(
        _ group: String, of owner: String, app: String? = nil, _ patch: PatchRequest,
        device: String? = nil
    ) throws(ClientError) -> Self {
        Self(
            .patch, try .group(group, of: owner, app), body: patch.document,
            mediaType: DocumentType.mergePatch, device: device, reading: GroupReceipt.init)
    }
}

extension DaemonCall where Answer == Int {
    /// Removes all of an owner's notifications of a group, or those of them that are one app's, in
    /// as many transactions as it takes. Each is told in the feed. Answers how many there were.
    public static func deleteGroup(
        _ group: String, of owner: String, app: String? = nil, device: String? = nil
    ) throws(ClientError) -> Self {
        Self(.delete, try .group(group, of: owner, app), device: device, reading: deletedCount)
    }

    /// Removes all of an owner's notifications, in as many transactions as it takes. Answers how
    /// many there were.
    public static func deleteOwner(
        _ owner: String, device: String? = nil
    ) throws(ClientError) -> Self {
        Self(.delete, try .user(owner), device: device, reading: deletedCount)
    }

    private static func deletedCount(_ reader: DocumentReader) throws(ClientError) -> Int {
        try reader.integer("deleted")
    }
}

extension DaemonCall where Answer == CategoryReceipt {
    /// Gives a category its actions and options, for the notifications of one app, or of all that
    /// have no own one of that name. Owners with a notification of it are told so in their feeds,
    /// before this is answered. One that says what is there already stays as it is, revision and
    /// all. Throws `preconditionFailed`.
    public static func setCategory(
        _ name: String, _ actions: [NotificationRecord.Action],
        options: [NotificationCategory.Option] = [], app: String? = nil,
        condition: CallCondition = .none
    ) throws(ClientError) -> Self {
        var document = DocumentBuilder()
        document.add("actions", .array(actions.map(\.json)))
        if !options.isEmpty {
            document.add("options", .array(options.map { .string($0.rawValue) }))
        }
        return Self(
            .put, try .category(name, app), body: document.bytes, mediaType: DocumentType.json,
            condition: condition, read: CategoryReceipt.init)
    }
}

extension DaemonCall where Answer == NotificationCategory {
    /// A category of one app, or of all. Throws `notFound`.
    public static func category(
        _ name: String, app: String? = nil
    ) throws(ClientError) -> Self {
        Self(.get, try .category(name, app), reading: NotificationCategory.init)
    }
}

extension DaemonCall where Answer == CategoryList {
    /// A page of the categories, by name and app; an empty one when there are none.
    ///
    /// - Parameter cursor: the `next` of the page before; nil: from the start.
    public static func categories(after cursor: String? = nil) -> Self {
        var target = CallTarget("/v1/categories")
        target.add("after", cursor)
        return Self(.get, target, reading: CategoryList.init)
    }
}

extension DaemonCall where Answer == Void {
    /// Removes a category of one app, or of all; notifications keep its name. Throws `notFound` and
    /// `preconditionFailed`.
    public static func deleteCategory(
        _ name: String, app: String? = nil, condition: CallCondition = .none
    ) throws(ClientError) -> Self {
        Self(.delete, try .category(name, app), condition: condition, read: { _ in })
    }
}
