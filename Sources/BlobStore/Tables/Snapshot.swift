internal import Bytes
internal import LMDB
internal import Synchronization

/// The store as it stood at one moment: one LMDB read transaction, and the memtable over it, where there is one. While
/// it is open no space that it can see is used again, so do one bounded thing and leave: never wait for a client
/// inside.
public struct Snapshot: ~Copyable, TableReader {
    let transaction: ReadTransaction
    // Unretained: the transaction keeps the store, or the maker of this snapshot does. Counting
    // references here would cost more than the lookup's own bookkeeping.
    let unretainedStore: Unmanaged<StoreCore>
    /// What was acknowledged when it was opened, and is not in its transaction; nil: nothing, or it is of what is
    /// committed.
    let memtable: MemtableView?
    /// How often something was acknowledged or committed before it was opened.
    private let moment: UInt64

    var store: StoreCore {
        @inline(__always)
        get { unretainedStore.takeUnretainedValue() }
    }

    var tables: Tables {
        @inline(__always)
        get { store.tables }
    }

    @inline(__always)
    @_lifetime(borrow self)
    borrowing func get(_ key: RawSpan, in table: Table) throws(StoreError) -> RawSpan? {
        if let memtable {
            switch memtable.find(key, in: table.number) {
            case .nothing: break
            case .deleted: return nil
            case .value(let bytes):
                // The transaction's slot keeps the memtable until this snapshot ends.
                return _overrideLifetime(bytes.bytes, borrowing: self)
            }
        }
        return try transaction.view.get(key, in: table)
    }

    @_lifetime(borrow self)
    borrowing func cursor(in table: Table) throws(StoreError) -> TableCursor {
        TableCursor(try transaction.cursor(in: table), over: memtable)
    }

    /// - Parameters:
    ///   - isKept: whether the snapshot keeps its store. Where it does not, no reference is counted, and the caller
    ///     keeps the store until the snapshot has ended.
    ///   - isCommitted: whether it has what is committed only, and not all that is acknowledged.
    @inline(__always)
    init(_ store: StoreCore, isKept: Bool, isCommitted: Bool) throws(StoreError) {
        moment = store.memtables.moment.load(ordering: .acquiring)
        do throws(LMDBError) {
            transaction =
                isKept
                ? try store.readers.begin(keeping: store) : try store.readers.beginUnkept()
        } catch {
            throw StoreError(error)
        }
        memtable =
            isCommitted
            ? nil : MemtableView(address: transaction.companion, over: transaction.viewedCommit)
        // So that it is freed, however long this snapshot is open.
        if memtable == nil, transaction.companion != 0 { transaction.giveBackCompanion() }
        unretainedStore = .passUnretained(store)
    }

    /// Whether nothing was acknowledged by this process since it was opened.
    package var isCurrent: Bool {
        @inline(__always)
        get {
            // The maker of this snapshot keeps its store.
            unretainedStore._withUnsafeGuaranteedRef {
                moment == $0.memtables.moment.load(ordering: .acquiring)
            }
        }
    }

    /// A promise that the blob's chunks stay where they are after this snapshot has ended. Takes a
    /// lock for some nanoseconds.
    ///
    /// - Parameter blob: found in this snapshot, or already leased.
    public borrowing func lease(_ blob: BlobReference) -> Lease {
        Lease(blob.number, in: store.leases)
    }

    /// The record of `id` in place, or nil. An id that could not have been published is not there.
    @inline(__always)
    @_lifetime(borrow self)
    borrowing func lookup(_ id: RawSpan) throws(StoreError) -> RawSpan? {
        guard id.byteCount > 0 && id.byteCount <= StoreLimits.idByteCountMax else { return nil }
        let table = unretainedStore._withUnsafeGuaranteedRef { $0.tables.notifications }
        return try get(id, in: table)
    }

    package borrowing func lastRevision() throws(StoreError) -> UInt64 { try counters().revision }

}

extension TableCursor {
    borrowing func blobEntry() throws(StoreError) -> BlobEntry { try BlobEntry(key, value) }

    borrowing func record() throws(StoreError) -> Record {
        let view = try RecordView(value)
        let id = key
        try view.check(id: id)
        return try view.record(id: id.text())
    }
}
