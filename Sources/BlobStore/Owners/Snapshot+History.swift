internal import LMDB

/// Which of an owner's notifications.
public struct HistoryQuery: Sendable, Hashable {
    /// How many at the most, 1…1,000.
    public var limit = 100
    /// Those older than this cursor.
    public var before: HistoryToken?
    /// Only those that match.
    public var filter = RecordFilter()
    /// Stored bytes of records in the page at the most, if that is less than
    /// ``StoreLimits/pageByteCountMax``.
    public var byteCountMax = StoreLimits.pageByteCountMax

    /// All.
    public init() {}
}

/// A position in an owner's history. It belongs to one owner of one store.
public struct HistoryToken: Sendable, Hashable {
    let sequence: UInt64

    /// Bytes of its text.
    public static let textByteCount = CursorText.characterCount

    private static let label = "blobd history 1"

    init(sequence: UInt64) { self.sequence = sequence }

    /// Reads a text; nil when it is none, or belongs to another owner or store. One SHA-256.
    public init?(_ text: RawSpan, owner: RawSpan, store: StoreID) {
        guard
            let (sequence, _) = CursorText.read(text, label: Self.label, owner: owner, store: store)
        else { return nil }
        self.sequence = sequence
    }

    /// Appends the text: 32 characters of base64url. One SHA-256.
    public func append(owner: RawSpan, store: StoreID, to out: inout [UInt8]) {
        CursorText.append(sequence, 0, label: Self.label, owner: owner, store: store, to: &out)
    }
}

/// A stretch of an owner's history, newest first, without what has expired.
public struct HistoryPage: Sendable {
    /// At most as many as were asked for.
    public var records: [Record]
    /// Those that are not there any more, where these were asked for, newest first by when they were removed.
    public var deleted: [Tombstone] = []
    /// Where to continue; nil at the end. A page may have fewer than the limit and yet not be the
    /// last.
    public var next: HistoryToken?
    /// The cursor of the feed at this moment: a reader that continues from the first page's misses nothing.
    public var cursor: FeedCursor
}

/// What is remembered of a notification that was deleted or has expired.
public struct Tombstone: Sendable, Hashable {
    /// Its id, which another notification may have by now.
    public var id: String
    /// Whether its time was over.
    public var hasExpired: Bool
    /// The number of the change that removed it.
    public var revision: UInt64
    /// The device that removed it, if it said so.
    public var device: String?
    /// Its app.
    public var app: String?
    /// Until when it is remembered.
    public var rememberedUntil: Timestamp
}

extension Snapshot {
    /// An owner's notifications, newest first by when they came to it; expired ones are left out. Or those that are
    /// not there any more, by when they were removed.
    ///
    /// One seek, then one lookup for each notification, two of a group's, all past what is remembered for fetches.
    /// At most ``StoreLimits/historyEntriesLookedAtMax`` entries are looked at, and
    /// ``StoreLimits/pageByteCountReadMax`` bytes of records are read. So a page may have fewer than the limit, or
    /// none, and yet not be the last.
    public borrowing func history(
        of owner: RawSpan, _ query: HistoryQuery, asOf now: Timestamp
    ) throws(StoreError) -> HistoryPage {
        try Rules.check(now: now)
        try Rules.check(limit: query.limit)
        let revision = try counters().revision
        var page = HistoryPage(
            records: [], next: nil, cursor: FeedCursor(position: revision, base: 0))
        guard Self.mayBeOwner(owner), query.mayMatch else { return page }
        let sequencePrefix = IndexKeys.prefix(.sequence, owner)
        // Walks the group's members where one is named, and finds each among all.
        var all = try OwnerWalk(self, prefix: sequencePrefix)
        var walk = try OwnerWalk(
            self,
            prefix: query.filter.group.map { IndexKeys.groupPrefix(owner, $0) } ?? sequencePrefix)
        var budget = PageBudget(
            countMax: query.limit, entryCountMax: StoreLimits.historyEntriesLookedAtMax,
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
                    query.filter.group == nil
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
        guard let group = filter.group else { return true }
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
