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
        let value = counters.encoded
        try transaction.put(value.span.bytes, forKey: name.span.bytes, in: tables.meta)
        try transaction.commit()
    }

    /// The record of `id` as it stands, expired or not; nil when there is none.
    borrowing func record(_ id: String) throws(StoreError) -> Record? {
        let key = Array(id.utf8)
        guard let value = try transaction.get(key.span.bytes, in: tables.notifications) else {
            return nil
        }
        let view = try RecordView(value)
        try view.check(id: key.span.bytes)
        return try view.record(id: id)
    }

    /// Puts `record` in the place of `old`, with the next revision.
    mutating func replace(_ old: Record?, by record: inout Record) throws(StoreError) {
        counters.revision += 1
        record.revision = counters.revision
        record.parts = RecordEncoder.sorted(record.parts)
        if let old, old.expiresAt != record.expiresAt {
            try transaction.remove(Keys.expiry(old.expiresAt, old.id), in: tables.expiry)
        }
        if old?.expiresAt != record.expiresAt {
            try transaction.set(
                Keys.expiry(record.expiresAt, record.id), to: [], in: tables.expiry)
        }
        try transaction.set(
            Array(record.id.utf8), to: RecordEncoder.bytes(record), in: tables.notifications)
        if old == nil { counters.notifications += 1 }
        counters.parts = try counters.parts.changed(
            by: record.parts.count - (old?.parts.count ?? 0), "parts")
    }

    /// Removes a notification with everything it refers to.
    mutating func remove(_ record: Record) throws(StoreError) {
        for part in record.parts { try release(part.blob) }
        try transaction.remove(Array(record.id.utf8), in: tables.notifications)
        try transaction.remove(Keys.expiry(record.expiresAt, record.id), in: tables.expiry)
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
