import BlobProtocol
import BlobStore
import Bytes
import Notifications

// The calls for an owner: history and changes, and changes of many notifications.

extension RequestHandler {
    /// A stream's last event id takes precedence over `since`.
    func getChanges(_ request: EndpointRequest) throws(ProtocolError) -> ActionStep {
        let query = request.query
        let lastEventID = request.isWatch ? request.lastEventID : nil
        let since = lastEventID ?? query["since"] ?? Array("0".utf8)
        let owner = try request.required(request.owner).text
        let feed = FeedQuery(
            owner: owner, start: try feedStart(since.span.bytes, of: owner),
            limit: try query.pageLimit(),
            waitSeconds: try query.number(
                "wait", in: 0...WireLimits.waitSecondsMax, .badWait, default: 0),
            filter: try query.filter(in: request.scope), grant: request.grant)
        return request.isWatch ? .subscribe(feed) : .awaitChanges(feed)
    }

    /// A position in a feed: `0`, `latest`, or one from an answer. Throws `bad_cursor` for anything else, and `resync`
    /// for one from before the store was restored.
    func feedStart(_ text: RawSpan, of owner: String) throws(ProtocolError) -> FeedStart {
        if text.equals("0") { return .beginning }
        if text.equals("latest") { return .latest }
        let found: FeedCursor?
        do throws(StoreError) {
            found = try store.feedCursor(text, owner: owner.utf8.span.bytes)
        } catch {
            throw resynchronising(problem(error), owner)
        }
        return .after(
            try require(
                found, .badCursor,
                "invalid cursor \(text.excerpt()) for this owner: use 0, latest, or a cursor of this owner's feed"
            ))
    }

    /// A page of changes. Throws `resync`, with the place to start, if the history must be read again.
    func changes(
        _ query: FeedQuery, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> FeedPage {
        do throws(StoreError) {
            return try snapshot.changes(
                of: query.owner.utf8.span.bytes, from: query.start, limit: query.limit,
                byteCountMax: pageByteCountMax, matching: query.filter)
        } catch {
            if case .resync = error, let behind = behind(query, in: snapshot) { throw behind }
            throw resynchronising(problem(error), query.owner)
        }
    }

    /// The error for a cursor that is ahead of what this daemon has: it follows, or leads no more and does not know it yet.
    /// One that does lead has begun an epoch, with a revision after all that was lost.
    private func behind(
        _ query: FeedQuery, in snapshot: borrowing Snapshot
    ) -> ProtocolError? {
        guard replica.role != .alone, case .after(let cursor) = query.start,
            let revision = try? snapshot.lastRevision(), cursor.position > revision
        else { return nil }
        return ProtocolError(
            .behind,
            "this daemon has the changes up to revision \(revision), and the cursor has seen \(cursor.position); try again, or ask \(replica.leaderToAsk)"
        )
    }

    private func resynchronising(_ error: ProtocolError, _ owner: String) -> ProtocolError {
        guard error.code == .resync else { return error }
        let path = "/v1/users/\(PercentCoding.encoded(owner))/notifications"
        var error = error
        error.members = [ProblemMember("history", .text(path))]
        return error
    }

    func getHistory(
        _ request: EndpointRequest, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> ActionStep {
        let owner = try request.required(request.owner).text
        var query = HistoryQuery()
        query.limit = try request.query.pageLimit()
        if let before = request.query["before"] {
            query.before = try require(
                store.historyToken(before.span.bytes, owner: owner.utf8.span.bytes), .badCursor,
                "invalid before \(before.span.bytes.excerpt()) for this owner: use next of a page of this owner's history"
            )
        }
        query.filter = try request.query.filter(in: request.scope)
        query.byteCountMax = pageByteCountMax
        let page = try asked(try snapshot.history(of: owner.utf8.span.bytes, query, asOf: now))
        let status = query.filter.status
        return .respond(
            .document {
                HistoryDocument.append(page, status, owner: owner, store: store.id, to: &$0)
            })
    }

    func deleteOwner(_ request: EndpointRequest) throws(ProtocolError) -> ActionStep {
        return .write(.long(.deleteOwner(try request.required(request.owner))), .deletedCount)
    }

    func deleteGroup(_ request: EndpointRequest) throws(ProtocolError) -> ActionStep {
        let (group, app) = try group(request)
        let owner = try request.required(request.owner)
        return .write(
            .long(.deleteGroup(owner: owner, group: group, app: app, device: request.device)),
            .deletedCount)
    }

    func patchGroup(_ request: EndpointRequest) throws(ProtocolError) -> ActionStep {
        let (group, app) = try group(request)
        let owner = try request.required(request.owner)
        return try receive(request, .nothing) { (reader, bytes, plan) throws(ProtocolError) in
            let change = LongChange.patchGroup(
                owner: owner.text, group: group.text, app: app?.text, try reader.patch(bytes, plan))
            return .long(try reader.checked(try CheckedLongChange(change, asOf: .now)))
        }
    }

    private func group(
        _ request: EndpointRequest
    ) throws(ProtocolError) -> (group: GroupName, app: AppName?) {
        let group: GroupName? = try request.query.name("group")
        return (
            try require(group, .badQuery, "the parameter group is missing"),
            try request.query.app()
        )
    }
}
