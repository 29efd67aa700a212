internal import Bytes
internal import LMDB

extension Snapshot {
    /// Changes of an owner's notifications after `start`, in the order of their commits: of each notification the latest
    /// in each app that it has been of (``FeedPage``); at most `limit` of them (1…1,000).
    ///
    /// One seek, then one lookup for each notification that is there, all past what is remembered for fetches. A
    /// page has at most ``StoreLimits/pageByteCountMax`` stored bytes of records, and looks at
    /// ``StoreLimits/feedEntriesLookedAtMax`` entries. What does not match the filter counts for those limits: a
    /// page may be empty, and have more. What has expired is there until it is swept.
    ///
    /// - Throws: ``StoreError/resync`` when deletions may have been forgotten since, or the cursor is ahead of the
    ///   store: read the history again and continue from its cursor. ``StoreError/corrupt(_:)``.
    public borrowing func changes(
        of owner: RawSpan, from start: FeedStart, limit: Int,
        byteCountMax: Int = StoreLimits.pageByteCountMax,
        matching filter: RecordFilter = RecordFilter()
    ) throws(StoreError) -> FeedPage {
        try Rules.check(limit: limit)
        let counters = try counters()
        let begin = try cursor(of: owner, from: start, counters)
        var page = FeedPage(
            changes: [], next: FeedCursor(position: counters.revision, base: 0), hasMore: false,
            revision: counters.revision)
        // Nothing is after the last change, so this is also right for what begins there.
        let (first, overflow) = begin.position.addingReportingOverflow(1)
        guard !overflow, Self.mayBeOwner(owner) else { return page }
        var walk = try OwnerWalk(self, prefix: IndexKeys.prefix(.sequence, owner))
        var budget = PageBudget(
            countMax: limit, entryCountMax: StoreLimits.feedEntriesLookedAtMax,
            byteCountMax: byteCountMax)
        var last = begin.position
        var isThere = try walk.seek(first)
        while isThere {
            var isFull = budget.isSpent
            if !isFull {
                let position = walk.number
                let entry = try walk.entry()
                var byteCount = 0
                if entry.indexes.contains(.feed) {
                    let cursor = FeedCursor(position: position, base: begin.base)
                    var (change, count) = try walk.change(
                        entry, at: position, cursor, filter, isOld: position <= begin.base)
                    if change?.kind == .category {
                        let there = try walkedCategory(entry.id, app: entry.app)
                        change?.category = there.category
                        change?.app = entry.app
                        count = there.byteCount
                    }
                    byteCount = count
                    if let change {
                        isFull = !budget.take(
                            change.record == nil && change.category == nil ? 0 : count)
                        if !isFull { page.changes.append(change) }
                    }
                }
                budget.read(byteCount)
                if !isFull { last = position }
            }
            if isFull {
                page.next = FeedCursor(position: last, base: begin.base)
                page.hasMore = true
                break
            }
            isThere = try walk.next()
        }
        return page
    }

    /// Where to begin, once it is clear that nothing after it was forgotten.
    private borrowing func cursor(
        of owner: RawSpan, from start: FeedStart, _ counters: Counters
    ) throws(StoreError) -> FeedCursor {
        let cursor =
            switch start {
            case .beginning: FeedCursor(position: 0, base: counters.revision)
            case .latest: FeedCursor(position: counters.revision, base: 0)
            case .after(let cursor): cursor
            }
        let known = max(cursor.position, cursor.base)
        // Ahead of the store: it was put back from a copy.
        guard known <= counters.revision else { throw .resync }
        guard known >= counters.horizon else { throw .resync }
        if let mark = try purgeMarker(of: owner), known < mark.revision { throw .resync }
        return cursor
    }

    /// A category, past what is remembered for fetches, and how many bytes it has; nil when it is
    /// gone.
    private borrowing func walkedCategory(
        _ name: String, app: String?
    ) throws(StoreError) -> (category: Category?, byteCount: Int) {
        let key = IndexKeys.category(name, app: app)
        var cursor = try cursor(in: tables.index)
        guard try cursor.find(key.span.bytes) else { return (nil, 0) }
        return (try Category(cursor.value, key: cursor.key), cursor.value.byteCount)
    }

    private borrowing func purgeMarker(of owner: RawSpan) throws(StoreError) -> PurgeMarker? {
        guard Self.mayBeOwner(owner) else { return nil }
        let key = IndexKeys.prefix(.mark, owner)
        var cursor = try cursor(in: tables.index)
        guard try cursor.find(key.span.bytes) else { return nil }
        return try PurgeMarker(cursor.value, key: cursor.key)
    }

    /// Whether an owner may be called so. Others have nothing, and their keys might be taken for
    /// somebody else's.
    static func mayBeOwner(_ owner: RawSpan) -> Bool {
        guard owner.byteCount <= StoreLimits.ownerByteCountMax else { return false }
        for offset in 0..<owner.byteCount where owner.byte(offset) == 0 { return false }
        return true
    }
}

extension OwnerWalk {
    /// What a cursor in the feed says to a reader with a filter, and how many bytes of a record were copied for it.
    /// `isOld`: what was gone or did not match when the reader began was never told to it.
    @_lifetime(self: copy self)
    fileprivate mutating func change(
        _ entry: SequenceEntry, at revision: UInt64, _ cursor: FeedCursor, _ filter: RecordFilter,
        isOld: Bool
    ) throws(StoreError) -> (FeedChange?, Int) {
        let kind: FeedChange.Kind
        switch entry.kind {
        case .deleted: kind = .deleted
        case .expired: kind = .expired
        case .category: kind = .category
        case .live:
            guard let (record, byteCount) = try record(entry.id), record.revision == revision
            else {
                throw .corrupt("change \(revision) of notification \(entry.id) is not its latest")
            }
            let matches = filter.matches(record)
            guard matches || !isOld && filter.isOfApp(record.app) else { return (nil, byteCount) }
            let change = FeedChange(
                kind: !matches ? .left : record.sequence == revision ? .published : .updated,
                id: entry.id, revision: revision, device: record.device,
                record: matches ? record : nil, cursor: cursor)
            return (change, byteCount)
        }
        // What is said of a category of all apps is for each of them.
        let isForAll = entry.kind == .category && entry.app == nil
        guard !isOld || filter.matches(entry), isForAll || filter.isOfApp(entry.app) else {
            return (nil, 0)
        }
        let change = FeedChange(
            kind: kind, id: entry.id, revision: revision, device: entry.device, record: nil,
            cursor: cursor)
        return (change, 0)
    }
}
