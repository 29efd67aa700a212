internal import CLinux
internal import LMDB
internal import Synchronization

/// Where a batch of changes is when it is acknowledged: decided before it is applied, since the two need other
/// notes.
enum BatchDestination {
    /// In a record of the write-ahead log: a later checkpoint brings it to `data.mdb`.
    case log
    /// In `data.mdb`, committed with all that the log has.
    case checkpoint
}

/// One LMDB write transaction of the store, with the counters it will leave. A failure in the middle leaves it half
/// done: end it without ``commit()``.
struct ChangeTransaction: ~Copyable, TableReader {
    var transaction: WriteTransaction
    var counters: Counters
    let tables: Tables
    /// The time of the batch that is being done.
    var now: Timestamp
    let retentionMilliseconds: Int64
    /// Whether a notification that leaves its owner leaves a tombstone. A full store may have no room for more of
    /// them: everyone who follows a feed must then read the history again, which is better than a store that
    /// nothing can be removed from.
    var remembersRemovals = true
    /// The first blob number that this transaction gives: no commit has a blob from there on.
    let firstOwnBlobNumber: UInt64
    /// The first blob number of this batch: nobody has read a blob from there on.
    var firstUnseenBlobNumber: UInt64
    /// Owners whose feeds have changed in this batch, most of them once.
    var touchedOwners: [String] = []
    var hasCategoryEdit = false
    private let durations: WriteDurations
    /// Blobs that were stored in this batch, where changes are shipped.
    var storedBlobs: [BlobReference] = []
    var destination = BatchDestination.checkpoint
    /// The number that this batch will have where changes are shipped; 0: they are not.
    var sequence: UInt64 = 0
    /// The epochs with the one that this batch begins, or continues with after a gap; nil: it does neither.
    var newEpochs: EpochList?
    /// Whether the store belongs to a shard: blobs may be evicted then.
    let isReplicated: Bool
    let quarantine: Quarantine
    let core: StoreCore
    /// Memory for one key after the other, taken out while it is used.
    var spareKey: [UInt8] = []
    private(set) var quotas = Quotas()
    /// What the file system has free; nil where nobody asks, or it is not known.
    private(set) var freeDiskByteCount: Int?

    init(_ store: StoreCore, asOf now: Timestamp) throws(StoreError) {
        let begun = try Self.begin(store.environment)
        counters = try Self.storedCounters(begun, store.tables)
        firstOwnBlobNumber = counters.nextBlobNumber
        firstUnseenBlobNumber = counters.nextBlobNumber
        transaction = begun
        tables = store.tables
        self.now = now
        durations = store.durations
        isReplicated = store.replication.isReplicated.load(ordering: .relaxed)
        quarantine = store.quarantine
        core = store
        retentionMilliseconds = store.adjustable.withLock { $0.tombstoneRetentionMilliseconds }
        takeQuotas(of: store)
    }

    /// Takes the quotas as they are now, for the next batch. One `fstatvfs` where one is about the disk.
    mutating func takeQuotas(of store: StoreCore) {
        quotas = store.adjustable.withLock { $0.quotas }
        freeDiskByteCount =
            quotas.freeDiskByteCountMin > 0
            ? Disk(store.environment.dataDescriptor)?.availableByteCount : nil
    }

    private static func begin(_ environment: Environment) throws(StoreError) -> WriteTransaction {
        try StoreError.converting { () throws(LMDBError) in try environment.beginWrite() }
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

    var isDirty: Bool { transaction.isDirty }

    /// The owners whose feeds have changed, which are told of it now.
    mutating func takeTouchedOwners() -> [String] {
        defer { touchedOwners.removeAll(keepingCapacity: true) }
        return touchedOwners
    }

    /// Writes the counters, commits and syncs.
    consuming func commit() throws(LMDBError) {
        try putCounters()
        let start = clinux_monotonic_ns()
        try transaction.commit()
        durations.commit.note(nanoseconds: clinux_monotonic_ns() - start)
    }

    @_lifetime(borrow self)
    borrowing func get(_ key: RawSpan, in table: Table) throws(StoreError) -> RawSpan? {
        try transaction.get(key, in: table)
    }

    @_lifetime(borrow self)
    borrowing func cursor(in table: Table) throws(StoreError) -> TableCursor {
        TableCursor(try transaction.cursor(in: table))
    }

    mutating func set<Value: MetaValue>(_ value: Value) throws(StoreError) {
        try transaction.set(
            Value.name.utf8.span.bytes, to: value.value.span.bytes, in: tables.meta)
    }

    mutating func set(_ value: some IndexValue, at key: [UInt8]) throws(StoreError) {
        try transaction.set(
            key.span.bytes, to: value.bytes(key: key).span.bytes, in: tables.index)
    }

    /// Stores a key of the table `index` that says all by itself.
    mutating func setIndex(_ key: [UInt8]) throws(StoreError) {
        try transaction.set(key.span.bytes, to: RawSpan(), in: tables.index)
    }

    mutating func putOutbox(_ batch: [UInt8], at sequence: UInt64) throws(StoreError) {
        try transaction.set(
            IndexKeys.outbox(sequence).span.bytes, to: batch.span.bytes, in: tables.index)
    }

    /// - Returns: false when it was not there.
    @discardableResult
    mutating func removeIndex(_ key: [UInt8]) throws(StoreError) -> Bool {
        try transaction.remove(key.span.bytes, in: tables.index)
    }

    mutating func putCounters() throws(LMDBError) {
        let name = Array(Counters.name.utf8)
        let value = counters.value
        try transaction.put(value.span.bytes, forKey: name.span.bytes, in: tables.meta)
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

extension ChangeTransaction {
    /// Writes a format version, with all else that the format record says, unless it is that or higher.
    mutating func requireFormat(_ version: UInt32) throws(StoreError) {
        var format = try format()
        guard format.version < version else { return }
        format.version = version
        try set(format)
    }
}
