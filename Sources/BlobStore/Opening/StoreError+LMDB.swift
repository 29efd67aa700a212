internal import LMDB

// liblmdb's answers as the store's errors, once for every call the store makes.

extension StoreError {
    init(_ error: LMDBError) {
        if error.isMapFull || error.isTransactionFull {
            self = .full
        } else if error.isReadersFull {
            self = .readersFull
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

extension ReadView {
    @inline(__always)
    @_lifetime(copy self)
    func get(_ key: RawSpan, in table: Table) throws(StoreError) -> RawSpan? {
        do throws(LMDBError) {
            return try value(forKey: key, in: table)
        } catch {
            throw StoreError(error)
        }
    }
}

extension WriteTransaction {
    @_lifetime(borrow self)
    borrowing func get(_ key: RawSpan, in table: Table) throws(StoreError) -> RawSpan? {
        do throws(LMDBError) {
            return try value(forKey: key, in: table)
        } catch {
            throw StoreError(error)
        }
    }

    mutating func set(_ key: RawSpan, to value: RawSpan, in table: Table) throws(StoreError) {
        do throws(LMDBError) {
            try put(value, forKey: key, in: table)
        } catch {
            throw StoreError(error)
        }
    }

    /// - Returns: false when something is there already.
    mutating func insert(
        _ key: RawSpan, _ value: RawSpan, in table: Table
    ) throws(StoreError) -> Bool {
        do throws(LMDBError) {
            return try insert(value, forKey: key, in: table)
        } catch {
            throw StoreError(error)
        }
    }

    mutating func set(
        _ key: ChunkKey, to first: RawSpan, _ second: RawSpan, in table: Table
    ) throws(StoreError) {
        do throws(LMDBError) {
            try put(first, second, forKey: key.bytes, in: table)
        } catch {
            throw StoreError(error)
        }
    }

    /// - Returns: false when it was not there.
    @discardableResult
    mutating func remove(_ key: RawSpan, in table: Table) throws(StoreError) -> Bool {
        do throws(LMDBError) {
            return try delete(key, in: table)
        } catch {
            throw StoreError(error)
        }
    }
}

extension Cursor {
    /// - Returns: false when the table is empty.
    @_lifetime(self: copy self)
    mutating func first() throws(StoreError) -> Bool {
        do throws(LMDBError) { return try moveToFirst() } catch { throw StoreError(error) }
    }

    /// - Returns: false at the end.
    @_lifetime(self: copy self)
    mutating func next() throws(StoreError) -> Bool {
        do throws(LMDBError) { return try moveToNext() } catch { throw StoreError(error) }
    }

    /// - Returns: false when the table is empty.
    @_lifetime(self: copy self)
    mutating func last() throws(StoreError) -> Bool {
        do throws(LMDBError) { return try moveToLast() } catch { throw StoreError(error) }
    }

    /// - Returns: false before the first entry.
    @_lifetime(self: copy self)
    mutating func previous() throws(StoreError) -> Bool {
        do throws(LMDBError) { return try moveToPrevious() } catch { throw StoreError(error) }
    }

    /// - Returns: false when there is nothing at or behind `key`.
    @_lifetime(self: copy self)
    mutating func seek(_ key: RawSpan) throws(StoreError) -> Bool {
        do throws(LMDBError) {
            return try move(toKeyAtOrAfter: key)
        } catch {
            throw StoreError(error)
        }
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
