import BlobProtocol

// All of an owner's notifications, and what became of them.
extension BlobConnection {
    /// Changes all of an owner's notifications of a group, or those of them that are one app's, in
    /// as many transactions as it takes.
    @discardableResult
    public mutating func patchGroup(
        _ group: String, of owner: String, app: String? = nil, _ patch: PatchRequest,
        device: String? = nil
    ) throws(ClientError) -> GroupReceipt {
        var target = try CallTarget.user(owner, "/notifications")
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
        var target = try CallTarget.user(owner, "/notifications")
        target.add("group", group)
        target.add("app", app)
        let answer = try call(.delete, target.text, device: device)
        return try DocumentReader(answer.body).integer("deleted")
    }

    /// Removes all of an owner's notifications, in as many transactions as it takes. Returns how
    /// many there were.
    @discardableResult
    public mutating func deleteOwner(
        _ owner: String, device: String? = nil
    ) throws(ClientError) -> Int {
        let answer = try call(.delete, try CallTarget.user(owner).text, device: device)
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
        var target = try CallTarget.user(owner, "/notifications")
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
        var target = try CallTarget.user(owner, "/changes")
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
}
