internal import CLMDB
internal import Glibc

/// The one change under way in an environment (`mdb_txn_begin`). LMDB ties it to the thread that began it. Ending
/// it without ``commit()`` aborts it.
@safe package struct WriteTransaction: ~Copyable {
    let handle: OpaquePointer
    private let environment: Environment
    private var isOver = false
    private let cursors: WriteCursors
    /// Whether anything was put or deleted. A transaction that changed nothing need not be committed.
    package private(set) var isDirty = false

    init(_ environment: Environment) throws(LMDBError) {
        var handle: OpaquePointer?
        let code = unsafe mdb_txn_begin(environment.handle, nil, 0, &handle)
        guard code == MDB_SUCCESS, let begun = unsafe handle else {
            throw LMDBError(code: code, call: "mdb_txn_begin")
        }
        unsafe self.handle = begun
        self.environment = environment
        cursors = WriteCursors()
    }

    deinit {
        if !isOver { unsafe mdb_txn_abort(handle) }
        cursors.deallocate()
    }

    /// The number this change will have once committed (`mdb_txn_id`).
    package var id: UInt64 { unsafe UInt64(mdb_txn_id(handle)) }

    /// Writes everything out and syncs it (`mdb_txn_commit`). Where it throws, the change is not in this process's
    /// view; whether it is on disk is not known where a sync failed.
    package consuming func commit() throws(LMDBError) {
        let handle = unsafe self.handle
        // mdb_txn_commit frees the transaction whatever it answers.
        isOver = true
        try LMDBError.check(unsafe mdb_txn_commit(handle), "mdb_txn_commit")
    }

    /// The value of `key` as this transaction has it. It is good until the next change: puts are `mutating`, so
    /// that the compiler refuses a change while it is held.
    @_lifetime(borrow self)
    package borrowing func value(
        forKey key: RawSpan, in table: Table
    ) throws(LMDBError) -> RawSpan? {
        var found = unsafe MDB_val()
        let cursor = try unsafe cursors.cursor(in: table, of: handle)
        let code = unsafe key.withMDBValue { unsafe mdb_cursor_get(cursor, &$0, &found, MDB_SET) }
        if code == MDB_NOTFOUND { return nil }
        try LMDBError.check(code, "mdb_cursor_get")
        try unsafe check(found, in: table)
        // The page keeps these bytes until this transaction changes or ends.
        return unsafe _overrideLifetime(MappedValue.span(of: found), borrowing: self)
    }

    /// Stores `value` under `key`, replacing what is there (`mdb_cursor_put`). One copy, into the page.
    package mutating func put(
        _ value: RawSpan, forKey key: RawSpan, in table: Table
    ) throws(LMDBError) {
        let cursor = try unsafe cursors.cursor(in: table, of: handle)
        let code = unsafe key.withMDBValue { key in
            unsafe value.withMDBValue { unsafe mdb_cursor_put(cursor, &key, &$0, 0) }
        }
        try LMDBError.check(code, "mdb_cursor_put")
        isDirty = true
    }

    /// Stores `first` and `second`, one after the other, under `key` (`MDB_RESERVE`). A key after all others is
    /// appended (`MDB_APPEND`): pages are then filled to the end.
    package mutating func put(
        _ first: RawSpan, _ second: RawSpan, forKey key: RawSpan, in table: Table
    ) throws(LMDBError) {
        let reserved = try unsafe reserve(
            first.byteCount + second.byteCount, forKey: key, in: table)
        unsafe MappedValue.fill(reserved, with: first, second)
    }

    /// Has liblmdb make room for a value (`mdb_cursor_put` with `MDB_RESERVE`).
    private mutating func reserve(
        _ byteCount: Int, forKey key: RawSpan, in table: Table
    ) throws(LMDBError) -> MDB_val {
        var reserved = unsafe MDB_val(mv_size: byteCount, mv_data: nil)
        let cursor = try unsafe cursors.cursor(in: table, of: handle)
        let code = unsafe key.withMDBValue { key in
            let flags = UInt32(MDB_RESERVE)
            let code = unsafe mdb_cursor_put(cursor, &key, &reserved, flags | UInt32(MDB_APPEND))
            // Not after all others; nothing was changed.
            guard code == MDB_KEYEXIST else { return code }
            // liblmdb frees as many pages of what is replaced as the first of them says.
            var found = unsafe MDB_val()
            if unsafe mdb_cursor_get(cursor, &key, &found, MDB_SET) == MDB_SUCCESS,
                unsafe !bounds.holdInChange(found, table.valueKind)
            {
                return LMDBError.outOfBoundsCode
            }
            return unsafe mdb_cursor_put(cursor, &key, &reserved, flags)
        }
        try LMDBError.check(code, "mdb_cursor_put")
        isDirty = true
        return unsafe reserved
    }

    /// Removes `key` (`mdb_cursor_del`).
    ///
    /// - Returns: false when it was not there.
    @discardableResult
    package mutating func delete(_ key: RawSpan, in table: Table) throws(LMDBError) -> Bool {
        let cursor = try unsafe cursors.cursor(in: table, of: handle)
        var found = unsafe MDB_val()
        let code = unsafe key.withMDBValue { unsafe mdb_cursor_get(cursor, &$0, &found, MDB_SET) }
        if code == MDB_NOTFOUND { return false }
        try LMDBError.check(code, "mdb_cursor_get")
        // liblmdb frees as many pages as the first of them says.
        try unsafe check(found, in: table)
        try LMDBError.check(unsafe mdb_cursor_del(cursor, 0), "mdb_cursor_del")
        isDirty = true
        return true
    }

    var bounds: MapBounds { environment.bounds }

    /// Throws unless a value is where a page can have it.
    private func check(_ value: MDB_val, in table: Table) throws(LMDBError) {
        guard unsafe bounds.holdInChange(value, table.valueKind) else {
            throw .outOfBounds("mdb_cursor_get")
        }
    }

    /// Opens a table, creating it when it is not there (`mdb_dbi_open`). The handle is good once
    /// this transaction is committed, for the life of the environment.
    package mutating func openTable(
        _ name: StaticString, creating: Bool
    ) throws(LMDBError) -> Table {
        unsafe try Table(transaction: handle, name: name, flags: creating ? UInt32(MDB_CREATE) : 0)
    }
}

/// One cursor for each table that a transaction uses: where the next key is in the same page, liblmdb finds it
/// without descending from the root. liblmdb keeps them in step with all changes, and frees them when it ends.
@safe private struct WriteCursors {
    // By the tables' handles: two of liblmdb's own, then the named ones. The transaction that made
    // this gives the memory back when it ends, and uses none of it afterwards.
    private let all: UnsafeMutablePointer<OpaquePointer?>
    private static let countMax = 40

    init() {
        unsafe all = .allocate(capacity: Self.countMax)
        unsafe all.initialize(repeating: nil, count: Self.countMax)
    }

    func deallocate() {
        unsafe all.deallocate()
    }

    /// The table's cursor, which is opened the first time (`mdb_cursor_open`).
    @inline(__always)
    func cursor(
        in table: Table, of transaction: OpaquePointer
    ) throws(LMDBError) -> OpaquePointer {
        let index = Int(table.handle)
        precondition(index < Self.countMax, "an environment has fewer tables")
        if let cursor = unsafe all[index] { return unsafe cursor }
        var cursor: OpaquePointer?
        let code = unsafe mdb_cursor_open(transaction, table.handle, &cursor)
        guard code == MDB_SUCCESS, let opened = unsafe cursor else {
            throw LMDBError(code: code, call: "mdb_cursor_open")
        }
        unsafe all[index] = opened
        return unsafe opened
    }
}

extension Table {
    init(transaction: OpaquePointer, name: StaticString, flags: UInt32) throws(LMDBError) {
        var handle = MDB_dbi()
        // A static string is NUL-terminated and outlives the call.
        let code = unsafe mdb_dbi_open(
            transaction, UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self),
            flags, &handle)
        try LMDBError.check(code, "mdb_dbi_open")
        self.init(handle: handle, name: name)
    }
}
