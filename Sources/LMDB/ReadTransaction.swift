internal import CLMDB
internal import Synchronization

/// A consistent view of all tables as they stood when it began (`mdb_txn_begin` with `MDB_RDONLY`). While it lives,
/// no page it can see is used again: a forgotten one makes the file grow.
@safe package struct ReadTransaction: ~Copyable {
    let handle: OpaquePointer
    private let slot: UnsafeMutablePointer<ReaderSlot>
    /// What keeps the slot, retained by hand; nil where the caller sees to that.
    private let keeper: Unmanaged<AnyObject>?

    /// Takes over a slot whose transaction is renewed, and a reference to `keeper`.
    @inline(__always)
    init(_ slot: UnsafeMutablePointer<ReaderSlot>, keeper: Unmanaged<AnyObject>?) {
        guard let handle = unsafe slot.pointee.transaction else {
            preconditionFailure("a slot without a transaction")
        }
        unsafe self.handle = handle
        unsafe self.slot = slot
        unsafe self.keeper = keeper
    }

    @inline(__always)
    deinit {
        unsafe mdb_txn_reset(handle)
        if let locks = unsafe slot.pointee.locks {
            unsafe locks.takeUnretainedValue().unlock(viewedCommit)
        }
        unsafe slot.pointee.release()
        // Last: the slot may go with it.
        if let keeper = unsafe keeper { unsafe keeper.release() }
    }

    /// The number of the last commit this view contains (`mdb_txn_id`).
    package var id: UInt64 { unsafe UInt64(mdb_txn_id(handle)) }

    /// Without a call: its slot says so.
    package var viewedCommit: UInt64 {
        @inline(__always)
        get { unsafe slot.pointee.mark.load(ordering: .relaxed) }
    }

    /// What it was given: see ``ReaderSlots/setCompanion(_:)``.
    package var companion: UInt {
        @inline(__always)
        get { unsafe slot.pointee.companion.load(ordering: .relaxed) }
    }

    /// Gives back what it was given, which this view has no use for.
    package func giveBackCompanion() {
        unsafe slot.pointee.companion.store(0, ordering: .releasing)
    }

    /// Where its transaction, its cache and its bounds are.
    fileprivate var slotAddress: UnsafeMutablePointer<ReaderSlot> {
        @inline(__always)
        get { unsafe slot }
    }

    var bounds: MapBounds { unsafe slot.pointee.bounds }

    package var view: ReadView {
        @inline(__always)
        @_lifetime(borrow self)
        get { ReadView(self) }
    }

    /// Entries of a table (`mdb_stat`).
    package borrowing func entryCount(of table: Table) throws(LMDBError) -> Int {
        unsafe try MDB_stat(handle, table.handle).ms_entries
    }

    /// The pages that some tables have, and those of the main table and of the free list. Costs a
    /// `mdb_stat` a table.
    package borrowing func pageCount(of tables: [Table]) throws(LMDBError) -> Int {
        unsafe try MDB_stat.pageCount(of: tables, in: handle)
    }
}

extension MDB_stat {
    fileprivate init(_ transaction: OpaquePointer, _ table: MDB_dbi) throws(LMDBError) {
        self.init()
        try LMDBError.check(unsafe mdb_stat(transaction, table, &self), "mdb_stat")
    }

    /// The pages of some tables, and of the main table and the free list, which no named table
    /// counts: handles 0 and 1 are LMDB's FREE_DBI and MAIN_DBI.
    static func pageCount(
        of tables: [Table], in transaction: OpaquePointer
    ) throws(LMDBError) -> Int {
        var count = unsafe try MDB_stat(transaction, 0).pageCount
        count += unsafe try MDB_stat(transaction, 1).pageCount
        for table in tables { count += unsafe try MDB_stat(transaction, table.handle).pageCount }
        return count
    }

    private var pageCount: Int {
        // A damaged file may say any number. No map has more pages, and callers multiply.
        func bounded(_ count: Int) -> Int { min(max(0, count), 1 << 34) }
        return bounded(ms_branch_pages) + bounded(ms_leaf_pages) + bounded(ms_overflow_pages)
    }
}

/// A borrowed read transaction: a plain value that can be copied and stored in other borrowed values,
/// and ends with the transaction.
@safe package struct ReadView: ~Escapable {
    private let slot: UnsafeMutablePointer<ReaderSlot>

    @inline(__always)
    @_lifetime(borrow transaction)
    package init(_ transaction: borrowing ReadTransaction) {
        unsafe slot = transaction.slotAddress
    }

    /// What earlier views of the same commit have found; nil in processes that only read.
    private var cache: LookupCache? {
        @inline(__always)
        get { unsafe slot.pointee.cache }
    }

    /// The value of `key`, straight from the map, aligned to 2 bytes only; good as long as the transaction. One
    /// lookup, no copy. Throws also for a value that is not inside of pages in use; what is remembered was compared
    /// when it was found.
    @inline(__always)
    @_lifetime(copy self)
    package func value(forKey key: RawSpan, in table: Table) throws(LMDBError) -> RawSpan? {
        // The map keeps the bytes until the transaction that this view borrows ends, whether it was
        // this one that found them or an earlier one of the same commit.
        guard let cache, let short = LookupKey(key, in: table.handle) else {
            guard let found = unsafe try lookUp(key, in: table) else { return nil }
            return unsafe _overrideLifetime(MappedValue.span(of: found), copying: self)
        }
        if let known = unsafe cache.value(for: short) {
            return unsafe _overrideLifetime(MappedValue.span(of: known), copying: self)
        }
        guard let found = unsafe try lookUp(key, in: table) else { return nil }
        unsafe cache.remember(found, for: short)
        return unsafe _overrideLifetime(MappedValue.span(of: found), copying: self)
    }

    @inline(__always)
    private func lookUp(_ key: RawSpan, in table: Table) throws(LMDBError) -> MDB_val? {
        var known: MDB_val?
        if unsafe try slot.pointee.roots.find(key, in: table, &known) { return unsafe known }
        return unsafe try lookUpSlowly(key, in: table)
    }

    /// Whether the pages of a value that this view has found are its own, by the header of the first: others' must
    /// not be written over.
    package func isInOwnPages(_ value: RawSpan, of table: Table) -> Bool {
        unsafe value.withMDBValue {
            unsafe slot.pointee.bounds.holdInChange($0, table.valueKind)
        }
    }

    /// Like ``value(forKey:in:)``, for a value that is to be replaced or removed: liblmdb frees as many pages as the
    /// first of a long one says.
    @_lifetime(copy self)
    package func valueToChange(
        forKey key: RawSpan, in table: Table
    ) throws(LMDBError) -> RawSpan? {
        guard let value = try value(forKey: key, in: table) else { return nil }
        guard isInOwnPages(value, of: table) else { throw .outOfBounds("mdb_get") }
        return value
    }

    /// The number of the page that the entry of a key is on, or the first of those that its long value has, and the bytes
    /// of the value; nil: there is no such key. One lookup.
    package func place(
        ofValueFor key: RawSpan, in table: Table
    ) throws(LMDBError) -> (page: UInt, byteCount: Int)? {
        guard let found = unsafe try lookUp(key, in: table) else { return nil }
        // An empty value at a page's end begins after it, and its key before it.
        let page = unsafe slot.pointee.bounds.page(of: UnsafeRawPointer(found.mv_data) - 1)
        return (page, unsafe found.mv_size)
    }

    /// Whether all entries of the page that a value is in fill that page as they should: liblmdb moves them by the
    /// lengths that they say when one of them is replaced.
    package func isOnSoundPage(_ value: RawSpan) -> Bool {
        unsafe value.withUnsafeBytes { bytes in
            unsafe slot.pointee.bounds.isOnSoundLeaf(bytes.baseAddress)
        }
    }

    /// By `mdb_get`.
    @inline(never)
    private func lookUpSlowly(_ key: RawSpan, in table: Table) throws(LMDBError) -> MDB_val? {
        var found = unsafe MDB_val()
        let handle = unsafe slot.pointee.transaction
        let code = unsafe key.withMDBValue { unsafe mdb_get(handle, table.handle, &$0, &found) }
        if code == MDB_NOTFOUND { return nil }
        try LMDBError.check(code, "mdb_get")
        guard unsafe slot.pointee.bounds.hold(found) else { throw .outOfBounds("mdb_get") }
        return unsafe found
    }
}
