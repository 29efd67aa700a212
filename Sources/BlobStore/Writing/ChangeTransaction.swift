internal import LMDB

/// One LMDB write transaction of the store, with the counters it will leave. All that it changes is
/// committed together, or nothing of it.
///
/// A failure in the middle leaves it half done: end it without ``commit()``.
struct ChangeTransaction: ~Copyable {
    var transaction: WriteTransaction
    var counters: Counters
    let tables: Tables
    let now: Timestamp

    init(_ store: BlobStore, asOf now: Timestamp) throws(StoreError) {
        let begun = try Self.begin(store.environment)
        counters = try Self.storedCounters(begun, store.tables)
        transaction = begun
        tables = store.tables
        self.now = now
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
        guard let value = try transaction.get(name.span.bytes, in: tables.meta) else {
            throw .corrupt("the counters are missing")
        }
        return try Counters(value)
    }

    /// Whether anything was changed.
    var isDirty: Bool { transaction.isDirty }

    /// Writes the counters, commits and syncs.
    consuming func commit() throws(LMDBError) {
        let name = Array(Counters.name.utf8)
        let value = counters.words
        try transaction.put(value.span.bytes, forKey: name.span.bytes, in: tables.meta)
        try transaction.commit()
    }

    /// The record of `id` as it stands, expired or not; nil when there is none.
    borrowing func record(_ id: String) throws(StoreError) -> Record? {
        let key = id.utf8.span.bytes
        guard let value = try transaction.get(key, in: tables.notifications) else { return nil }
        let view = try RecordView(value)
        try view.check(id: key)
        return try view.record(id: id)
    }

    /// Puts `record` in the place of `old`, with the next revision.
    mutating func replace(_ old: Record?, by record: inout Record) throws(StoreError) {
        counters.revision += 1
        record.revision = counters.revision
        record.parts = RecordEncoder.sorted(record.parts)
        if let old, old.expiresAt != record.expiresAt {
            let key = Keys.expiry(old.expiresAt, old.id)
            try transaction.remove(key.span.bytes, in: tables.index)
        }
        if old?.expiresAt != record.expiresAt {
            let key = Keys.expiry(record.expiresAt, record.id)
            try transaction.set(key.span.bytes, to: RawSpan(), in: tables.index)
        }
        let value = RecordEncoder.bytes(record)
        try transaction.set(
            record.id.utf8.span.bytes, to: value.span.bytes, in: tables.notifications)
        if old == nil { counters.notifications += 1 }
        counters.parts = try counters.parts.changed(
            by: record.parts.count - (old?.parts.count ?? 0), "parts")
    }

    /// Removes a notification with everything it refers to.
    mutating func remove(_ record: Record) throws(StoreError) {
        for part in record.parts { try release(part.blob) }
        try transaction.remove(record.id.utf8.span.bytes, in: tables.notifications)
        let key = Keys.expiry(record.expiresAt, record.id)
        try transaction.remove(key.span.bytes, in: tables.index)
        counters.revision += 1
        counters.notifications = try counters.notifications.changed(by: -1, "notifications")
        counters.parts = try counters.parts.changed(by: -record.parts.count, "parts")
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
