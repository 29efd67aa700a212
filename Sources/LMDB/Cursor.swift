internal import CLMDB

/// A position in a table, in key order (`mdb_cursor_open`). It borrows its transaction: it cannot outlive it, and a
/// write transaction cannot change while one is open.
@safe package struct Cursor: ~Copyable, ~Escapable {
    private let handle: OpaquePointer
    private let bounds: MapBounds
    /// Whether its transaction changes pages, which are in memory then.
    private let isChanging: Bool
    /// The table that it walks.
    package let table: Table
    private var currentKey = unsafe MDB_val()
    private var currentValue = unsafe MDB_val()

    /// Opens a cursor that stands nowhere yet.
    @_lifetime(borrow transaction)
    package init(
        _ transaction: borrowing ReadTransaction, in table: Table
    ) throws(LMDBError) {
        unsafe handle = try Self.open(transaction.handle, table)
        bounds = transaction.bounds
        isChanging = false
        self.table = table
    }

    /// Opens a cursor that stands nowhere yet.
    @_lifetime(borrow transaction)
    package init(
        _ transaction: borrowing WriteTransaction, in table: Table
    ) throws(LMDBError) {
        unsafe handle = try Self.open(transaction.handle, table)
        bounds = transaction.bounds
        isChanging = true
        self.table = table
    }

    private static func open(
        _ transaction: OpaquePointer, _ table: Table
    ) throws(LMDBError) -> OpaquePointer {
        var handle: OpaquePointer?
        let code = unsafe mdb_cursor_open(transaction, table.handle, &handle)
        guard code == MDB_SUCCESS, let opened = unsafe handle else {
            throw LMDBError(code: code, call: "mdb_cursor_open")
        }
        return unsafe opened
    }

    deinit {
        unsafe mdb_cursor_close(handle)
    }

    package enum Step: Sendable {
        case first, last
        /// The entry after the current one.
        case next
        /// The entry in front of it; the last one where it stands nowhere yet.
        case previous
    }

    /// Moves in the order of the keys (`MDB_FIRST` …).
    ///
    /// - Returns: false when there is no such entry.
    @_lifetime(self: copy self)
    package mutating func move(_ step: Step) throws(LMDBError) -> Bool {
        let operation =
            switch step {
            case .first: MDB_FIRST
            case .last: MDB_LAST
            case .next: MDB_NEXT
            case .previous: MDB_PREV
            }
        var key = unsafe MDB_val()
        var value = unsafe MDB_val()
        let code = unsafe mdb_cursor_get(handle, &key, &value, operation)
        return try unsafe arrive(code, key: key, value: value)
    }

    /// Moves to the first entry whose key is `key` or comes after it (`MDB_SET_RANGE`).
    ///
    /// - Returns: false when there is none.
    @_lifetime(self: copy self)
    package mutating func move(toKeyAtOrAfter key: RawSpan) throws(LMDBError) -> Bool {
        var value = unsafe MDB_val()
        var found = unsafe MDB_val()
        let code = unsafe key.withMDBValue {
            let code = unsafe mdb_cursor_get(handle, &$0, &value, MDB_SET_RANGE)
            unsafe found = $0
            return code
        }
        return try unsafe arrive(code, key: found, value: value)
    }

    /// The key the cursor stands at; empty before the first move, after the end, and where the
    /// page says a key that it cannot have.
    package var key: RawSpan {
        @_lifetime(borrow self)
        get { unsafe _overrideLifetime(MappedValue.span(of: currentKey), borrowing: self) }
    }

    /// The value the cursor stands at, straight from the map; empty where the key is.
    package var value: RawSpan {
        @_lifetime(borrow self)
        get { unsafe _overrideLifetime(MappedValue.span(of: currentValue), borrowing: self) }
    }

    @_lifetime(self: copy self)
    private mutating func arrive(
        _ code: Int32, key: MDB_val, value: MDB_val
    ) throws(LMDBError) -> Bool {
        if code == MDB_NOTFOUND {
            unsafe currentKey = MDB_val()
            unsafe currentValue = MDB_val()
            return false
        }
        try LMDBError.check(code, "mdb_cursor_get")
        // It stands there all the same, and can be moved on: the value is empty then.
        let hasKey = unsafe holds(key, .key)
        let hasValue = unsafe hasKey && holds(value, table.valueKind)
        unsafe currentKey = hasKey ? key : MDB_val()
        unsafe currentValue = hasValue ? value : MDB_val()
        guard hasValue else { throw .outOfBounds("mdb_cursor_get") }
        return true
    }

    private func holds(_ value: MDB_val, _ kind: MapBounds.Kind) -> Bool {
        unsafe isChanging ? bounds.holdInChange(value, kind) : bounds.hold(value)
    }
}
