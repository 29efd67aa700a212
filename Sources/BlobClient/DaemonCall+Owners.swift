import BlobJSON
public import BlobProtocol

// An owner's notifications and changes, categories, and the daemon itself.

extension DaemonCall where Answer == NotificationHistory {
    /// A page of an owner's notifications, newest first, without expired ones.
    ///
    /// - Parameters:
    ///   - owner: the owner.
    ///   - limit: the most notifications, 1…1,000. A page may have fewer without being the last.
    ///   - before: only notifications older than this position, a `NotificationHistory.next`.
    ///   - filter: only notifications that match.
    public static func history(
        of owner: String, limit: Int = 100, before: String? = nil,
        matching filter: NotificationFilter = NotificationFilter()
    ) throws(ClientError) -> Self {
        let query = [("limit", "\(limit)"), ("before", before)] + filter.query
        return Self(
            .get, try .user(owner, "/notifications", query), reading: NotificationHistory.init)
    }
}

extension DaemonCall where Answer == ChangePage {
    /// A page of an owner's changes. Throws `resync` if the daemon does not remember that far back.
    ///
    /// - Parameters:
    ///   - owner: the owner.
    ///   - since: `0` for all changes, `latest` for new ones, or a cursor.
    ///   - limit: the most changes, 1…1,000. A page may have fewer without being the last.
    ///   - waitSeconds: how long to wait for a change if there is none, at most 60. The client's other calls wait too,
    ///     except for `BlobdClient.changes`.
    ///   - filter: notifications that do not match are reported as left, without their records.
    public static func changes(
        of owner: String, since: String = "0", limit: Int = 100, waitSeconds: Int = 0,
        matching filter: NotificationFilter = NotificationFilter()
    ) throws(ClientError) -> Self {
        let query = [
            ("since", since), ("limit", "\(limit)"),
            ("wait", waitSeconds == 0 ? nil : "\(waitSeconds)"),
        ]
        var call = Self(
            .get, try .user(owner, "/changes", query + filter.query), reading: ChangePage.init)
        call.waitSeconds = waitSeconds
        return call
    }
}

extension DaemonCall where Answer == GroupReceipt {
    /// Changes all of an owner's notifications of a group (of one app), in as many transactions as needed.
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
    /// Removes all of an owner's notifications of a group (of one app), in as many transactions as needed. The feed
    /// reports each. Returns how many there were.
    public static func deleteGroup(
        _ group: String, of owner: String, app: String? = nil, device: String? = nil
    ) throws(ClientError) -> Self {
        Self(.delete, try .group(group, of: owner, app), device: device, reading: deletedCount)
    }

    /// Removes all of an owner's notifications, in as many transactions as needed. Returns how many there were.
    public static func deleteOwner(
        _ owner: String, device: String? = nil
    ) throws(ClientError) -> Self {
        Self(.delete, try .user(owner), device: device, reading: deletedCount)
    }

    private static func deletedCount(_ object: DocumentObject) throws(ProtocolError) -> Int {
        try object.required("deleted")
    }
}

extension DaemonCall where Answer == CategoryReceipt {
    /// Sets the actions and options of a category, for the notifications of one app, or of all apps that have no
    /// category of that name. Before the answer, the feeds of owners with a notification of that category report the
    /// change. Setting the same values again keeps the revision. Throws `preconditionFailed`.
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
    /// A page of the categories, by name and app.
    ///
    /// - Parameter cursor: the `next` of the previous page; nil: from the start.
    public static func categories(after cursor: String? = nil) -> Self {
        Self(.get, CallTarget("/v1/categories", [("after", cursor)]), reading: CategoryList.init)
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

extension DaemonCall where Answer == DaemonStatistics {
    /// The daemon's counters.
    public static var stats: Self { Self(.get, CallTarget("/v1/stats")) }
}

extension DaemonCall where Answer == ScrubReport {
    /// The progress of the scrub.
    public static var scrub: Self { Self(.get, CallTarget("/v1/scrub")) }

    /// Starts a scrub without pauses. The answer arrives when it has started.
    public static var startScrub: Self { Self(.post, CallTarget("/v1/scrub")) }
}

extension DaemonCall where Answer == ReplicationReport {
    /// The daemon's role in its shard.
    public static var replication: Self { Self(.get, CallTarget("/v1/replication")) }

    /// Makes the daemon the leader of its shard. The answer arrives when it leads: the call waits for it a minute longer
    /// than others.
    ///
    /// - Parameter isForced: do not ask the current leader, because it is gone.
    public static func promote(isForced: Bool = false) -> Self {
        var call = Self(.post, CallTarget("/v1/replication", [("force", isForced ? "true" : nil)]))
        call.waitSeconds = 60
        return call
    }
}

extension DaemonCall where Answer: Decodable & SendableMetatype {
    fileprivate init(_ method: CallMethod, _ target: CallTarget) {
        self.init(
            method, target,
            read: { (answer) throws(ClientError) in
                try decode(Answer.self, from: answer.body)
            })
    }
}
