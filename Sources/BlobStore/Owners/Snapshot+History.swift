internal import LMDB

extension Snapshot {
    /// An owner's notifications, newest first by when they came to it; expired ones are left out. Or those that are
    /// not there any more, newest first by when they were removed.
    ///
    /// One seek, then one lookup for each notification, two of a group's, all past what is
    /// remembered for fetches. A page has at most ``StoreLimits/pageByteCountMax`` stored bytes of
    /// records. At most ``StoreLimits/historyEntriesLookedAtMax`` entries are looked at for it, and
    /// ``StoreLimits/pageByteCountReadMax`` bytes of records are read, those that the query leaves
    /// out included. So a page may have fewer than the limit, or none, and yet not be the last.
    ///
    /// - Parameters:
    ///   - owner: as UTF-8. One that has nothing has an empty history.
    ///   - query: where to begin, which to take, and how many.
    ///   - now: the present, by the wall clock.
    /// - Throws: ``StoreError/corrupt(_:)``; ``StoreError/cannotOpen(path:reason:)`` where a store
    ///   of an older format was opened for reading only.
    public borrowing func history(
        of owner: RawSpan, _ query: HistoryQuery, asOf now: Timestamp
    ) throws(StoreError) -> HistoryPage {
        let revision = try counters().revision
        var page = HistoryPage(
            records: [], next: nil, cursor: FeedCursor(position: revision, base: 0))
        guard Self.mayBeOwner(owner), query.mayMatch else { return page }
        let limit = min(max(query.limit, 1), StoreLimits.feedPageLimitMax)
        let sequencePrefix = IndexKeys.prefix(.sequence, owner)
        // Walks the group's members where one is named, and finds each among all.
        var all = try OwnerWalk(self, prefix: sequencePrefix)
        var walk = try OwnerWalk(
            self, prefix: query.group.map { IndexKeys.groupPrefix(owner, $0) } ?? sequencePrefix)
        var budget = PageBudget(
            countMax: limit, entryCountMax: StoreLimits.historyEntriesLookedAtMax,
            byteCountMax: query.byteCountMax)
        var last: UInt64 = 0
        var isThere = try walk.seek(below: query.before?.sequence ?? .max)
        while isThere {
            var isFull = budget.isSpent
            if !isFull {
                let sequence = walk.number
                var byteCount = 0
                if query.filter.status == .deleted {
                    if let deleted = try walk.deleted(query.filter) {
                        isFull = !budget.take(0)
                        if !isFull { page.deleted.append(deleted) }
                    }
                } else if let (record, count) =
                    query.group == nil
                    ? try walk.historyRecord() : try all.historyRecord(of: sequence)
                {
                    byteCount = count
                    if record.expiresAt > now, query.filter.matches(record) {
                        isFull = !budget.take(count)
                        if !isFull { page.records.append(record) }
                    }
                }
                budget.read(byteCount)
                if !isFull { last = sequence }
            }
            if isFull {
                page.next = HistoryToken(sequence: last)
                break
            }
            isThere = try walk.previous()
        }
        return page
    }
}

extension HistoryQuery {
    /// A group that no notification can have has no members.
    fileprivate var mayMatch: Bool {
        guard let group else { return true }
        return group.utf8.count <= StoreLimits.groupByteCountMax && !group.utf8.contains(0)
    }
}

extension OwnerWalk {
    @_lifetime(self: copy self)
    fileprivate mutating func historyRecord(
        of sequence: UInt64
    ) throws(StoreError) -> (record: Record, byteCount: Int)? {
        guard try seek(sequence), number == sequence, let found = try historyRecord() else {
            throw .corrupt("member \(sequence) of a group is not in its owner's history")
        }
        return found
    }

    fileprivate func deleted(
        _ filter: RecordFilter
    ) throws(StoreError) -> Tombstone? {
        let entry = try entry()
        guard filter.matches(entry), let end = entry.end else { return nil }
        return Tombstone(
            id: entry.id, hasExpired: entry.kind == .expired, revision: number,
            device: entry.device, app: entry.app, rememberedUntil: end)
    }

    /// The record whose place in the history the walk stands at; nil where it stands at a place in
    /// the feed alone.
    @_lifetime(self: copy self)
    fileprivate mutating func historyRecord()
        throws(StoreError) -> (record: Record, byteCount: Int)?
    {
        let entry = try entry()
        guard entry.indexes.contains(.history) else { return nil }
        guard let found = try record(entry.id), found.record.sequence == number else {
            throw .corrupt("notification \(entry.id) is not in its owner's history")
        }
        return found
    }
}
