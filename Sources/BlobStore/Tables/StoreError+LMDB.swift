internal import Bytes
internal import Glibc
internal import LMDB

// liblmdb's answers as the store's errors, once for every call the store makes.

extension StoreError {
    init(_ error: LMDBError) {
        if error.isMapFull || error.isTransactionFull {
            self = .full
        } else if error.isReadersFull {
            self = .readersFull
        } else if error.isMapTooSmall {
            self = .io(
                operation:
                    "\(error.call) on a store that has grown beyond the map of this process (close it and open it again)",
                errno: ENOMEM)
        } else if error.isFatal {
            self = .outcomeUnknown(error.description)
        } else if error.isCorruption {
            self = .corrupt(error.description)
        } else if let number = error.systemError {
            self = .io(operation: "\(error.call)", errno: number)
        } else {
            self = .corrupt(error.description)
        }
    }
}

extension StoreError {
    /// Calls `body`, whose errors become the store's.
    static func converting<Result: ~Copyable>(
        _ body: () throws(LMDBError) -> Result
    ) throws(StoreError) -> Result {
        do throws(LMDBError) { return try body() } catch { throw StoreError(error) }
    }

    /// With the entry it happened at, where pages do not make sense.
    @inline(never)
    init(_ error: LMDBError, at key: RawSpan, in table: StaticString) {
        guard error.isCorruption else {
            self.init(error)
            return
        }
        self = .corrupt("table \(table), key \(KeyText.text(key)): \(error.description)")
    }
}

extension ReadView {
    @inline(__always)
    @_lifetime(copy self)
    func get(_ key: RawSpan, in table: Table) throws(StoreError) -> RawSpan? {
        do throws(LMDBError) {
            return try value(forKey: key, in: table)
        } catch {
            throw StoreError(error, at: key, in: table.name)
        }
    }
}

extension Table {
    /// Calls `body`, whose errors name the entry.
    @inline(__always)
    fileprivate func converting<Result>(
        at key: RawSpan, _ body: () throws(LMDBError) -> Result
    ) throws(StoreError) -> Result {
        do throws(LMDBError) { return try body() } catch {
            throw StoreError(error, at: key, in: name)
        }
    }
}

extension WriteTransaction {
    mutating func set(_ key: RawSpan, to value: RawSpan, in table: Table) throws(StoreError) {
        try table.converting(at: key) { () throws(LMDBError) in
            try put(value, forKey: key, in: table)
        }
    }

    mutating func set(
        _ key: RawSpan, to first: RawSpan, _ second: RawSpan, in table: Table
    ) throws(StoreError) {
        try table.converting(at: key) { () throws(LMDBError) in
            try put(first, second, forKey: key, in: table)
        }
    }

    @discardableResult
    mutating func remove(_ key: RawSpan, in table: Table) throws(StoreError) -> Bool {
        try table.converting(at: key) { () throws(LMDBError) in try delete(key, in: table) }
    }
}

extension ReadTransaction {
    @_lifetime(borrow self)
    borrowing func cursor(in table: Table) throws(StoreError) -> Cursor {
        do throws(LMDBError) { return try Cursor(self, in: table) } catch {
            throw StoreError(error)
        }
    }
}

extension WriteTransaction {
    @_lifetime(borrow self)
    borrowing func cursor(in table: Table) throws(StoreError) -> Cursor {
        do throws(LMDBError) { return try Cursor(self, in: table) } catch {
            throw StoreError(error)
        }
    }
}
