internal import LMDB

/// What a sweep did.
public struct SweepResult: Sendable, Hashable {
    /// Notifications removed.
    public var expired = 0
    /// Whether there are more whose time is over.
    public var more = false
    /// Notifications that were left, because what the store says of them does not agree with
    /// itself. They stay unreadable; `verify` names them.
    public var damaged = 0
}

extension BlobStore {
    /// Removes notifications whose time is over at `now`, oldest expiry first, in one transaction
    /// and with one sync. Reads never return them, swept or not; this gives their space back.
    ///
    /// - Parameter limit: how many at the most; fewer where their parts would not fit the limits of
    ///   a transaction.
    /// - Returns: how many were removed; nothing is written or synced when there are none. Damaged
    ///   ones are stepped over, so that one bad record does not keep the others' space for ever.
    /// - Throws: ``StoreError/corrupt(_:)`` when the tables themselves cannot be walked,
    ///   ``StoreError/outcomeUnknown(_:)``.
    public func sweepExpired(asOf now: Timestamp, limit: Int) throws(StoreError) -> SweepResult {
        let due = try withSnapshot { (snapshot) throws(StoreError) in
            try snapshot.expiredEntries(asOf: now, limit: 1)
        }
        guard !due.isEmpty else { return SweepResult() }
        return try whileWriting { () throws(StoreError) in
            try inTransaction(
                growth: 0, asOf: now, isPublishing: false
            ) { (transaction) throws(StoreError) in
                try transaction.sweep(limit: limit)
            }
        }
    }
}

/// An entry of the table `expiry`.
struct ExpiryEntry {
    var expiresAt: Timestamp
    var id: String

    static let idOffset = 8

    init(_ key: RawSpan) throws(StoreError) {
        guard key.byteCount > Self.idOffset else { throw .corrupt("an entry of the expiry table") }
        let milliseconds = UInt64(bigEndian: key.word(at: 0))
        expiresAt = Timestamp(milliseconds: Int64(truncatingIfNeeded: milliseconds))
        id = key.extracting(Self.idOffset..<key.byteCount).string
    }
}

extension Cursor {
    /// Entries from the start of the table `expiry` that are due at `now`, at most `limit`.
    @_lifetime(self: copy self)
    fileprivate mutating func dueEntries(
        asOf now: Timestamp, limit: Int
    ) throws(StoreError) -> [ExpiryEntry] {
        var entries: [ExpiryEntry] = []
        var isThere = try first()
        while isThere, entries.count < limit {
            let entry = try ExpiryEntry(key)
            guard entry.expiresAt <= now else { break }
            entries.append(entry)
            isThere = try next()
        }
        return entries
    }
}

extension Snapshot {
    borrowing func expiredEntries(
        asOf now: Timestamp, limit: Int
    ) throws(StoreError) -> [ExpiryEntry] {
        var cursor = try transaction.cursor(in: store.tables.index)
        return try cursor.dueEntries(asOf: now, limit: limit)
    }
}

extension ChangeTransaction {
    fileprivate mutating func sweep(limit: Int) throws(StoreError) -> SweepResult {
        let limit = min(max(limit, 1), StoreLimits.transactionPutCountMax)
        // One more than may be removed, and as many as may be stepped over.
        let entries = try dueEntries(limit: limit + 1 + StoreLimits.damagedCountMax)
        var result = SweepResult()
        var puts = 0
        for entry in entries {
            guard result.expired < limit, puts < StoreLimits.transactionPutCountMax else {
                result.more = true
                break
            }
            guard let record = try removableRecord(entry) else {
                result.damaged += 1
                continue
            }
            try remove(record)
            result.expired += 1
            // The record, its expiry, and for each part a count or an orphan.
            puts += 2 + 2 * record.parts.count
        }
        return result
    }

    /// The record an entry names, with everything it refers to there; nil when something is
    /// damaged.
    private borrowing func removableRecord(_ entry: ExpiryEntry) throws(StoreError) -> Record? {
        do throws(StoreError) {
            guard let record = try record(entry.id), record.expiresAt == entry.expiresAt else {
                return nil
            }
            for part in record.parts {
                guard let blob = try blobEntry(part.digest), blob.number == part.blob.number,
                    blob.referenceCount > 0
                else { return nil }
            }
            return record
        } catch {
            if case .corrupt = error { return nil }
            throw error
        }
    }

    private borrowing func dueEntries(limit: Int) throws(StoreError) -> [ExpiryEntry] {
        var cursor = try transaction.cursor(in: tables.index)
        return try cursor.dueEntries(asOf: now, limit: limit)
    }
}
