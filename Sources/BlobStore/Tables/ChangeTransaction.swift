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

/// A batch of changes under way, over all that is acknowledged, with the counters it will leave. A failure in the middle
/// leaves it half done: take it back (``rollBack(to:)``).
struct ChangeTransaction: ~Copyable, TableReader {
    var transaction: TableWriter
    /// Before its first change.
    private let begin: Mark
    var counters: Counters
    let tables: Tables
    /// The time of the batch that is being done.
    var now: Timestamp
    let retentionMilliseconds: Int64
    /// Whether a notification that leaves its owner leaves a tombstone. A full store may have no room for more of
    /// them: everyone who follows a feed must then read the history again, which is better than a store that
    /// nothing can be removed from.
    var remembersRemovals = true
    /// The first blob number of this batch: nobody has read a blob from there on.
    var firstUnseenBlobNumber: UInt64
    /// Owners whose feeds have changed in this batch, most of them once.
    var touchedOwners: [String] = []
    var hasCategoryEdit = false
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
    /// Memory for one key after the other: taken while it is used, then put back.
    var spareKey: [UInt8] = []
    private(set) var quotas = Quotas()
    /// What the file system has free; nil where nobody asks, or it is not known.
    private(set) var freeDiskByteCount: Int?

    init(_ store: StoreCore, asOf now: Timestamp) throws(StoreError) {
        try Rules.check(now: now)
        let begun = try TableWriter(store)
        counters = try Self.counters(begun, store.tables)
        begin = Mark(
            operation: begun.memtable.operationCount, operations: begun.operations.mark,
            counters: counters, touchedOwnerCount: 0, storedBlobCount: 0, hasCategoryEdit: false)
        firstUnseenBlobNumber = counters.nextBlobNumber
        transaction = begun
        tables = store.tables
        self.now = now
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

    private static func counters(
        _ writer: borrowing TableWriter, _ tables: Tables
    ) throws(StoreError) -> Counters {
        let found = try writer.get(Counters.name.utf8.span.bytes, in: tables.meta)
        guard let found else { throw .corrupt("the counters are missing") }
        return try Counters(found)
    }

    /// Whether anything was put or deleted in this batch.
    var isDirty: Bool { transaction.operations.operationCount > 0 }

    mutating func takeSpareKey() -> [UInt8] {
        var key: [UInt8] = []
        swap(&key, &spareKey)
        return key
    }

    @_lifetime(borrow self)
    borrowing func get(_ key: RawSpan, in table: Table) throws(StoreError) -> RawSpan? {
        try transaction.get(key, in: table)
    }

    @_lifetime(borrow self)
    borrowing func cursor(in table: Table) throws(StoreError) -> TableCursor {
        try transaction.cursor(in: table)
    }

    mutating func set<Value: MetaValue>(_ value: Value) throws(StoreError) {
        try transaction.set(
            Value.name.utf8.span.bytes, to: value.value.span.bytes, in: tables.meta)
    }

    mutating func set(_ value: some IndexValue, at key: [UInt8]) throws(StoreError) {
        try transaction.set(
            key.span.bytes, to: value.bytes(key: key).span.bytes, in: tables.index)
    }

    /// Without memory for the value.
    mutating func set<Value: IndexValue & WordsValue>(
        _ value: Value, at key: [UInt8]
    ) throws(StoreError) {
        let words = value.words(key: key.span.bytes)
        try transaction.set(
            key.span.bytes, to: words.span.bytes.extracting(first: Value.form.byteCountMin),
            in: tables.index)
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

    mutating func putCounters() throws(StoreError) { try set(counters) }
}

// What a batch did up to a moment can be kept, and the rest be taken back: one refused change does not touch the others.

extension ChangeTransaction {
    struct Mark {
        fileprivate let operation: UInt64
        fileprivate let operations: OperationBuffer.Mark
        fileprivate let counters: Counters
        fileprivate let touchedOwnerCount: Int
        fileprivate let storedBlobCount: Int
        fileprivate let hasCategoryEdit: Bool
    }

    var mark: Mark {
        Mark(
            operation: transaction.memtable.operationCount, operations: transaction.operations.mark,
            counters: counters, touchedOwnerCount: touchedOwners.count,
            storedBlobCount: storedBlobs.count, hasCategoryEdit: hasCategoryEdit)
    }

    /// Takes all of it back.
    mutating func rollBack() { rollBack(to: begin) }

    mutating func rollBack(to mark: Mark) {
        transaction.memtable.rollBack(to: mark.operation)
        transaction.operations.rollBack(to: mark.operations)
        counters = mark.counters
        touchedOwners.removeLast(touchedOwners.count - mark.touchedOwnerCount)
        storedBlobs.removeLast(storedBlobs.count - mark.storedBlobCount)
        hasCategoryEdit = mark.hasCategoryEdit
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
