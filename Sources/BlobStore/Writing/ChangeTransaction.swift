internal import LMDB

/// One LMDB write transaction of the store, with the counters it will leave. All that it changes is
/// committed together, or nothing of it.
///
/// A failure in the middle leaves it half done: end it without ``commit()``.
struct ChangeTransaction: ~Copyable {
    var transaction: WriteTransaction
    var counters: Counters
    let tables: Tables
    /// The time of the batch that is being done.
    var now: Timestamp
    /// How long tombstones and account marks are kept.
    let retentionMilliseconds: Int64
    /// Whether a notification that leaves its owner leaves a tombstone. False where a full store has
    /// no room for more of them: everyone who follows a feed must then read the history anew, which
    /// is better than a store that nothing can be removed from.
    var remembersRemovals = true
    /// The first blob number that this transaction gives: no snapshot has a blob from there on.
    let firstOwnBlobNumber: UInt64
    /// Owners whose feeds have changed, most of them once.
    var touchedOwners: [String] = []
    /// Whether a category was edited, and owners are to be told of it.
    var hasCategoryEdit = false
    /// Memory for one key after the other, taken out while it is used.
    private var spareKey: [UInt8] = []

    init(_ store: BlobStore, asOf now: Timestamp) throws(StoreError) {
        let begun = try Self.begin(store.environment)
        counters = try Self.storedCounters(begun, store.tables)
        firstOwnBlobNumber = counters.nextBlobNumber
        transaction = begun
        tables = store.tables
        self.now = now
        retentionMilliseconds = store.options.tombstoneRetentionMilliseconds
    }

    private static func begin(_ environment: Environment) throws(StoreError) -> WriteTransaction {
        do throws(LMDBError) {
            return try environment.beginWrite()
        } catch {
            throw StoreError(error)
        }
    }

    private static func storedCounters(
        _ transaction: borrowing WriteTransaction, _ tables: Tables
    ) throws(StoreError) -> Counters {
        let name = Array(Counters.name.utf8)
        let found: RawSpan?
        do throws(LMDBError) {
            // What else is in `meta` is on the same page, and is replaced without being read.
            found = try transaction.valueOnSoundPage(forKey: name.span.bytes, in: tables.meta)
        } catch {
            throw StoreError(error, at: name.span.bytes, in: tables.meta.name)
        }
        guard let found else { throw .corrupt("the counters are missing") }
        return try Counters(found)
    }

    /// Whether anything was changed.
    var isDirty: Bool { transaction.isDirty }

    /// Writes the counters, and what the store says of its log where that changes; commits and syncs.
    consuming func commit(noting state: LogState? = nil) throws(LMDBError) {
        try putCounters()
        if let state { try transaction.put(state, in: tables.meta) }
        try transaction.commit()
    }

    /// Stores a value under its name in the table `meta`.
    mutating func setMeta(_ name: String, to value: [UInt8]) throws(StoreError) {
        try transaction.set(name.utf8.span.bytes, to: value.span.bytes, in: tables.meta)
    }

    /// Writes the counters as they are now.
    mutating func putCounters() throws(LMDBError) {
        let name = Array(Counters.name.utf8)
        let value = counters.words
        try transaction.put(value.span.bytes, forKey: name.span.bytes, in: tables.meta)
    }

    /// The record of `id` as it stands, expired or not; nil when there is none.
    borrowing func record(_ id: String) throws(StoreError) -> Record? {
        let key = id.utf8.span.bytes
        guard let value = try transaction.get(key, in: tables.notifications) else { return nil }
        let view = try RecordView(value)
        try view.check(id: key)
        return try view.record(id: id)
    }

    /// Puts `record` in the place of `old`, which has its id, with the next revision, and into its
    /// owner's history and feed.
    mutating func replace(_ old: Record?, by record: inout Record) throws(StoreError) {
        counters.revision += 1
        record.revision = counters.revision
        record.parts = RecordEncoder.sorted(record.parts)
        try moveInIndex(old, to: &record)
        let oldExpiry = old?.expiresAt
        if oldExpiry != record.expiresAt {
            var key: [UInt8] = []
            swap(&key, &spareKey)
            if let oldExpiry {
                Keys.expiry(oldExpiry, record.id, into: &key)
                try transaction.remove(key.span.bytes, in: tables.index)
            }
            Keys.expiry(record.expiresAt, record.id, into: &key)
            try transaction.set(key.span.bytes, to: RawSpan(), in: tables.index)
            swap(&key, &spareKey)
        }
        let value = RecordEncoder.bytes(record)
        guard value.count <= StoreLimits.recordByteCountMax else {
            throw Rules.refuse(
                .record,
                "is \(value.count) bytes long; the limit is \(StoreLimits.recordByteCountMax)")
        }
        try transaction.set(
            record.id.utf8.span.bytes, to: value.span.bytes, in: tables.notifications)
        if old == nil { counters.notifications += 1 }
        counters.parts = try counters.parts.changed(
            by: record.parts.count - (old?.parts.count ?? 0), "parts")
    }

    /// Removes a notification with everything it refers to. Its owner hears of it.
    ///
    /// - Parameter device: who removed it.
    mutating func remove(
        _ record: Record, _ kind: SequenceEntry.Kind, device: String?
    ) throws(StoreError) {
        try drop(record)
        if record.owner != nil { try noteDeparture(record, kind, device: device) }
    }

    /// Removes a notification with everything it refers to, and leaves it in the index.
    mutating func drop(_ record: Record) throws(StoreError) {
        for part in record.parts { try release(part.blob) }
        try transaction.remove(record.id.utf8.span.bytes, in: tables.notifications)
        let key = Keys.expiry(record.expiresAt, record.id)
        try transaction.remove(key.span.bytes, in: tables.index)
        counters.revision += 1
        counters.notifications = try counters.notifications.changed(by: -1, "notifications")
        counters.parts = try counters.parts.changed(by: -record.parts.count, "parts")
    }

    /// Keeps owners' histories and feeds in step with a record that takes the place of another.
    private mutating func moveInIndex(
        _ old: Record?, to record: inout Record
    ) throws(StoreError) {
        guard let owner = record.owner else {
            record.setSequence(0)
            if old?.owner != nil, let old { try noteMove(of: old, by: record) }
            return
        }
        let staysWithOwner = old?.owner.map { $0.isSame(as: owner) } ?? false
        let stays = staysWithOwner && old?.app.isSame(as: record.app) ?? false
        if stays, let old, old.expiresAt > now {
            record.setSequence(old.sequence)
            return try noteChange(old, to: record)
        }
        record.setSequence(0)
        if let old, old.owner != nil, !stays {
            try noteMove(of: old, by: record)
            if staysWithOwner {
                // In one owner's feed it left the one app at a revision, and came to the other at
                // the next.
                counters.revision += 1
                record.revision = counters.revision
            }
        }
        try noteArrival(record, after: stays ? old : nil)
    }

    /// An owner has lost a notification to another, or to nobody; or one of its apps has lost it.
    private mutating func noteMove(of old: Record, by record: Record) throws(StoreError) {
        if old.expiresAt > now {
            try noteDeparture(old, .deleted, device: record.box?.value.device)
        } else {
            try noteDeparture(old, .expired, device: nil)
        }
    }
}

extension UInt64 {
    /// A counter after a change. One that would fall below zero was wrong before.
    func changed(by difference: Int, _ name: String) throws(StoreError) -> UInt64 {
        let magnitude = UInt64(difference.magnitude)
        let (result, overflow) =
            difference < 0
            ? subtractingReportingOverflow(magnitude) : addingReportingOverflow(magnitude)
        guard !overflow else { throw .corrupt("the counter of \(name) is \(self)") }
        return result
    }
}
