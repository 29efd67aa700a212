internal import LMDB

/// What a sweep did.
public struct SweepResult: Sendable, Hashable {
    /// Notifications removed.
    public var expired = 0
    /// Removals that are not remembered any longer.
    public var forgotten = 0
    /// Blobs that are not kept any longer without a reference.
    public var holdsEnded = 0
    /// Whether there are more that have expired.
    public var more = false
    /// Notifications, and other things, that were left, because what the store says of them does
    /// not agree with itself. They stay unreadable; `verify` names them.
    public var damaged = 0

    var count: Int { expired + forgotten + holdsEnded }
}

extension BlobStore {
    /// Removes notifications that have expired at `now`, oldest expiry first, in one transaction. Reads never
    /// return them; this gives their space back, and tells their owners. Ends holds of blobs and the memory of
    /// earlier removals, too, and continues by one step to tell owners of a category's edit. Damaged ones are
    /// stepped over.
    ///
    /// - Parameters:
    ///   - now: the time.
    ///   - limit: how many; fewer where their parts would not fit a transaction, or the store is full.
    /// - Throws: ``StoreError/corrupt(_:)`` when the tables themselves cannot be walked, ``StoreError/full`` when
    ///   there is not even room to remove one, ``StoreError/outcomeUnknown(_:)``.
    public func sweepExpired(asOf now: Timestamp, limit: Int) throws(StoreError) -> SweepResult {
        var result = SweepResult()
        let due = try due(asOf: now)
        if due.hasEntry {
            result = try sweep(asOf: now, limit: limit)
        }
        guard due.hasCategoryEdit else { return result }
        do throws(StoreError) {
            if try announceCategoryEdits(asOf: now) { result.more = true }
        } catch {
            // What is removed makes room for it.
            guard case .full = error else { throw error }
        }
        return result
    }

    /// Sweeps, and again without what met damage in the middle of its removal.
    private func sweep(asOf now: Timestamp, limit: Int) throws(StoreError) -> SweepResult {
        while true {
            let count = core.quarantine.unsweepableCount
            do throws(StoreError) {
                return try pipeline.changeInSteps(of: limit, asOf: now, isPublishing: false) {
                    (transaction, limit) throws(StoreError) in
                    try transaction.sweep(limit: limit)
                }
            } catch {
                guard case .corrupt = error, core.quarantine.unsweepableCount > count else {
                    throw error
                }
            }
        }
    }

    /// What there is to do: two seeks in one snapshot.
    private func due(
        asOf now: Timestamp
    ) throws(StoreError) -> (hasEntry: Bool, hasCategoryEdit: Bool) {
        try Rules.check(now: now)
        let snapshot = try makeSnapshot()
        return (
            try !snapshot.dueEntries(asOf: now, limit: 1).isEmpty,
            try snapshot.firstCategoryEdit() != nil
        )
    }
}

extension ChangeTransaction {
    fileprivate mutating func sweep(limit: Int) throws(StoreError) -> SweepResult {
        let limit = min(max(limit, 1), StoreLimits.transactionPutCountMax)
        // One more than may be removed, and as many as may be stepped over.
        let entries = try dueEntries(asOf: now, limit: limit + 1 + StoreLimits.damagedCountMax)
        var result = SweepResult()
        var puts = 0
        for entry in entries {
            guard result.count < limit, puts < StoreLimits.transactionPutCountMax else {
                result.more = true
                break
            }
            guard !quarantine.isUnsweepable(entry), try isSound(entry) else {
                result.damaged += 1
                continue
            }
            do throws(StoreError) {
                puts += try end(entry, &result)
            } catch {
                if case .corrupt = error { quarantine.noteUnsweepable(entry) }
                throw error
            }
        }
        return result
    }

    /// Does what is to be done at the time of `entry`, unless its record is damaged. Returns how many puts and
    /// deletes it took, about.
    private mutating func end(
        _ entry: TimeEntry, _ result: inout SweepResult
    ) throws(StoreError) -> Int {
        switch entry {
        case .notification(let time, let id):
            guard let record = try removableRecord(id, expiresAt: time) else {
                result.damaged += 1
                return 0
            }
            try remove(record, .expired, device: nil)
            result.expired += 1
            // The record, its expiry, and for each part a count or an orphan; the owner's entries.
            return 2 + 2 * record.parts.count + (record.owner == nil ? 0 : 6)
        case .tombstone(_, let owner, let revision):
            try forgetTombstone(owner: owner, revision: revision)
            result.forgotten += 1
            return 3
        case .hold(let time, let digest):
            try endHold(digest, at: time)
            result.holdsEnded += 1
            return 3
        case .mark(_, let owner):
            try forgetMark(owner: owner)
            result.forgotten += 1
            return 2
        }
    }

    /// The record an entry names, with everything it refers to there; nil when something is
    /// damaged.
    private borrowing func removableRecord(
        _ id: String, expiresAt time: Timestamp
    ) throws(StoreError) -> Record? {
        do throws(StoreError) {
            guard let record = try record(id), record.expiresAt == time,
                try isRemovable(record)
            else { return nil }
            return record
        } catch {
            if case .corrupt = error { return nil }
            throw error
        }
    }

    /// Whether what an entry names is there and whole. A notification is read once, when it is
    /// removed.
    private borrowing func isSound(_ entry: TimeEntry) throws(StoreError) -> Bool {
        do throws(StoreError) {
            switch entry {
            case .notification: return true
            case .tombstone(let time, let owner, let revision):
                guard let tombstone = try tombstone(owner, revision) else { return false }
                _ = try foundRevision(tombstone.finderKey(owner))
                return tombstone.end == time
            case .hold(let time, let digest): return try blobEntry(digest)?.heldUntil == time
            case .mark(let time, let owner): return try purgeMarker(owner)?.end == time
            }
        } catch {
            if case .corrupt = error { return false }
            throw error
        }
    }
}
