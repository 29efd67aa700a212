internal import Bytes
internal import LMDB

// The only code that writes the keys of owners' histories, feeds, groups and counts. A change of a record calls
// `noteArrival`, `noteChange` or `noteDeparture`; one that moves it to another owner or app, the last and the first.

extension ChangeTransaction {
    /// A record has come to its owner, with its revision set: it gets its place in history and feed, and in its
    /// group; the tombstone of an earlier one of its id and its app goes. `expired`: what it takes the place of,
    /// which nobody has swept: its places go without a tombstone.
    mutating func noteArrival(
        _ record: Record, after expired: Record? = nil
    ) throws(StoreError) {
        guard let owner = record.owner else { return }
        if let expired {
            try removeEntries(of: expired, owner)
        } else {
            try removeTombstone(of: record.id, record.app, owner)
        }
        try put(SequenceEntry([.history, .feed], id: record.id), owner, record.revision)
        try putGroup(of: record, owner)
        touch(owner)
    }

    /// A record of the same owner was changed: its place in the feed moves, that in the history stays.
    mutating func noteChange(_ old: Record, to new: Record) throws(StoreError) {
        guard let owner = new.owner else { return }
        if old.sequence == old.revision {
            try put(SequenceEntry(.history, id: old.id), owner, old.revision)
        } else {
            try removeSequence(owner, old.revision)
        }
        try put(SequenceEntry(.feed, id: new.id), owner, new.revision)
        if !old.group.isSame(as: new.group) {
            try removeGroup(of: old, owner)
            try putGroup(of: new, owner)
        }
        touch(owner)
    }

    /// A record has left its owner with the present revision: a tombstone takes its place in the feed.
    /// `device`: who removed it.
    mutating func noteDeparture(
        _ record: Record, _ kind: SequenceEntry.Kind, device: String?
    ) throws(StoreError) {
        guard let owner = record.owner else { return }
        try removeEntries(of: record, owner)
        touch(owner)
        let revision = counters.revision
        guard remembersRemovals else {
            // As if the tombstone had been there, and were forgotten already.
            counters.horizon = revision
            return
        }
        try putTombstone(
            SequenceEntry(
                kind, id: record.id, device: device, end: endOfRetention, app: record.app), owner,
            revision)
    }

    /// A category was edited that a notification of the owner shows: a line tells so, and that of an earlier edit
    /// goes.
    mutating func noteCategoryEdit(
        _ name: String, app: String?, of owner: String
    ) throws(StoreError) {
        if let earlier = try categoryLineRevision(of: name, app: app, owner) {
            try dropTombstone(owner: owner, revision: earlier)
        }
        let line = SequenceEntry(.category, id: name, device: nil, end: endOfRetention, app: app)
        try putTombstone(line, owner, counters.revision)
        touch(owner)
    }

    borrowing func categoryLineRevision(
        of name: String, app: String?, _ owner: String
    ) throws(StoreError) -> UInt64? {
        try foundRevision(IndexKeys.finder(owner, category: name, app: app))
    }

    /// A tombstone is not needed any more. Nobody is woken: who waits has read it.
    mutating func dropTombstone(owner: String, revision: UInt64) throws(StoreError) {
        guard let tombstone = try tombstone(owner, revision) else { return }
        // A damaged store may have two tombstones of an id; the finder is of the later one.
        let finder = tombstone.finderKey(owner)
        if try foundRevision(finder) == revision { try removeIndex(finder) }
        try remove(tombstone, owner, revision)
    }

    /// Everything of an owner up to the present revision is gone, without tombstones: who read its
    /// feed before must read the history again.
    mutating func markAccount(_ owner: String) throws(StoreError) {
        let key = IndexKeys.mark(owner)
        if let old = try purgeMarker(owner) { try removeIndex(IndexKeys.markEnd(old.end, owner)) }
        let mark = PurgeMarker(revision: counters.revision, end: endOfRetention)
        try set(mark, at: key)
        try setIndex(IndexKeys.markEnd(mark.end, owner))
        touch(owner)
    }
}

// What is forgotten: tombstones and marks at the end of their retention, and all that an account
// had.

extension ChangeTransaction {
    /// The retention of a tombstone has ended: places in the feed before it are too old from now on.
    mutating func forgetTombstone(owner: String, revision: UInt64) throws(StoreError) {
        try dropTombstone(owner: owner, revision: revision)
        counters.horizon = max(counters.horizon, revision)
    }

    mutating func forgetMark(owner: String) throws(StoreError) {
        guard let mark = try purgeMarker(owner) else { return }
        try removeIndex(IndexKeys.mark(owner))
        try removeIndex(IndexKeys.markEnd(mark.end, owner))
        counters.horizon = max(counters.horizon, mark.revision)
    }

    borrowing func tombstone(
        _ owner: String, _ revision: UInt64
    ) throws(StoreError) -> SequenceEntry? {
        guard let entry = try sequenceEntry(owner, revision), entry.kind != .live else {
            return nil
        }
        return entry
    }

    borrowing func tombstoneRevision(
        of id: String, _ app: String?, _ owner: String
    ) throws(StoreError) -> UInt64? {
        try foundRevision(IndexKeys.finder(owner, id: id, app: app))
    }

    /// Takes a record out of its owner's history and feed, as if it had never been there.
    mutating func removeEntries(of record: Record, _ owner: String) throws(StoreError) {
        try removeSequence(owner, record.sequence)
        if record.revision != record.sequence { try removeSequence(owner, record.revision) }
        try removeGroup(of: record, owner)
    }

    private var endOfRetention: Timestamp {
        let (end, isTooLate) = now.milliseconds.addingReportingOverflow(retentionMilliseconds)
        let latest = StoreLimits.expiryMillisecondsMax
        return Timestamp(milliseconds: isTooLate ? latest : min(max(0, end), latest))
    }

    private mutating func removeTombstone(
        of id: String, _ app: String?, _ owner: String
    ) throws(StoreError) {
        // Without tombstones there is none to be found.
        guard counters.tombstones > 0,
            let revision = try tombstoneRevision(of: id, app, owner)
        else { return }
        try removeIndex(IndexKeys.finder(owner, id: id, app: app))
        guard let tombstone = try tombstone(owner, revision) else { return }
        try remove(tombstone, owner, revision)
    }

    private mutating func remove(
        _ tombstone: SequenceEntry, _ owner: String, _ revision: UInt64
    ) throws(StoreError) {
        try removeSequence(owner, revision)
        if let end = tombstone.end { try removeIndex(IndexKeys.tombstoneEnd(end, owner, revision)) }
        counters.tombstones = try counters.tombstones.changed(by: -1, "tombstones")
    }

    private mutating func putTombstone(
        _ entry: SequenceEntry, _ owner: String, _ revision: UInt64
    ) throws(StoreError) {
        try put(entry, owner, revision)
        let finder = entry.finderKey(owner)
        try set(TombstoneIndexEntry(revision: revision), at: finder)
        if let end = entry.end { try setIndex(IndexKeys.tombstoneEnd(end, owner, revision)) }
        counters.tombstones += 1
    }

    private mutating func put(
        _ entry: SequenceEntry, _ owner: String, _ revision: UInt64
    ) throws(StoreError) {
        let key = IndexKeys.sequence(owner, revision, in: takeSpareKey())
        try set(entry, at: key)
        spareKey = key
    }

    private mutating func removeSequence(
        _ owner: String, _ revision: UInt64
    ) throws(StoreError) {
        let key = IndexKeys.sequence(owner, revision, in: takeSpareKey())
        try removeIndex(key)
        spareKey = key
    }

    private mutating func putGroup(of record: Record, _ owner: String) throws(StoreError) {
        guard let group = record.group else { return }
        try setIndex(IndexKeys.group(owner, group, record.sequence))
    }

    private mutating func removeGroup(of record: Record, _ owner: String) throws(StoreError) {
        guard let group = record.group else { return }
        try removeIndex(IndexKeys.group(owner, group, record.sequence))
    }

    mutating func touch(_ owner: String) {
        // Many changes of one owner come one after the other.
        if let last = touchedOwners.last, last.isSame(as: owner) { return }
        touchedOwners.append(owner)
    }
}

extension Record {
    /// The group of ``details``, without a copy of all of them.
    fileprivate var group: String? { box?.value.group }
}

// What each owner has is counted where records are put and removed, in the same transaction.

extension ChangeTransaction {
    /// What an owner has. One that is damaged counts as none; `verify` names it.
    borrowing func usage(of owner: String) throws(StoreError) -> OwnerUsage {
        try usage(at: IndexKeys.usage(owner))
    }

    private borrowing func usage(at key: [UInt8]) throws(StoreError) -> OwnerUsage {
        guard let value = try get(key.span.bytes, in: tables.index) else { return OwnerUsage() }
        return (try? OwnerUsage(value, key: key.span.bytes)) ?? OwnerUsage()
    }

    /// Counts that `new` takes the place of `old`.
    mutating func countUsage(_ old: Record?, _ new: Record?) throws(StoreError) {
        let oldByteCount = old?.byteCount ?? 0
        let newByteCount = new?.byteCount ?? 0
        if let owner = new?.owner {
            if let oldOwner = old?.owner, oldOwner.isSame(as: owner) {
                return try changeUsage(
                    of: owner, notifications: 0, bytes: newByteCount - oldByteCount)
            }
            try changeUsage(of: owner, notifications: 1, bytes: newByteCount)
        }
        if let owner = old?.owner {
            try changeUsage(of: owner, notifications: -1, bytes: -oldByteCount)
        }
    }

    private mutating func changeUsage(
        of owner: String, notifications: Int, bytes: Int
    ) throws(StoreError) {
        guard notifications != 0 || bytes != 0 else { return }
        let key = IndexKeys.usage(owner, in: takeSpareKey())
        try put(
            try usage(at: key).changed(notifications: notifications, bytes: bytes), at: key)
        spareKey = key
    }

    /// Stores what an owner has, under ``IndexKeys/usage(_:in:)``; an owner without notifications has no entry.
    mutating func put(_ usage: OwnerUsage, at key: [UInt8]) throws(StoreError) {
        guard usage.notifications == 0 else { return try set(usage, at: key) }
        try removeIndex(key)
    }
}

extension Record {
    var byteCount: Int { parts.reduce(0) { $0 + $1.byteCount } }
}
