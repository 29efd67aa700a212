internal import Bytes
internal import LMDB

/// Puts and deletes over what is acknowledged: they are in the memtable, seen by this writer alone, until they are
/// published or committed. What it reads is what is acknowledged with its own changes.
struct TableWriter: ~Copyable {
    let memtable: Memtable
    /// The one below it, kept: it may be settled meanwhile.
    private let frozen: Memtable?
    private let view: MemtableView
    /// What is put and deleted from now on, as far as it is asked for.
    var operations = OperationBuffer()
    /// Pages that the entries are in that were put or removed, at the most, and bytes of these entries; but for chunks.
    private(set) var touchedPageCount = 0
    private(set) var entryByteCount = 0
    /// Pages of the chunks that their removal copies, at the most.
    private(set) var removedChunkPageCount = 0
    /// Blobs from this number on are in no commit.
    let firstUncommittedBlobNumber: UInt64
    private let snapshot: Snapshot

    init(_ store: StoreCore) throws(StoreError) {
        let snapshot = try Snapshot(store, isKept: true, isCommitted: true)
        let counters = try snapshot.soundCounters()
        let commit = snapshot.transaction.viewedCommit
        memtable = store.memtables.current(over: commit)
        // Between the commit of what is frozen and the note of it the snapshot has it already.
        frozen = store.memtables.frozen
        view = MemtableView(
            memtable.ownList, over: frozen.map { MemtableList(address: $0.address) })
        firstUncommittedBlobNumber = counters.nextBlobNumber
        self.snapshot = snapshot
    }

    /// The number of the commit that will have these changes.
    var id: UInt64 { memtable.base + 1 }

    /// The last commit: the one before, or, while that is being made, the one before it.
    var lastCommit: UInt64 { snapshot.transaction.viewedCommit }

    @_lifetime(borrow self)
    borrowing func get(_ key: RawSpan, in table: Table) throws(StoreError) -> RawSpan? {
        switch view.find(key, in: table.number) {
        case .nothing: break
        case .deleted: return nil
        case .value(let bytes):
            // The memtable keeps it, and nothing in it changes.
            return _overrideLifetime(bytes.bytes, borrowing: self)
        }
        do throws(LMDBError) {
            return try snapshot.transaction.view.valueToChange(forKey: key, in: table)
        } catch {
            throw StoreError(error, at: key, in: table.name)
        }
    }

    @_lifetime(borrow self)
    borrowing func cursor(in table: Table) throws(StoreError) -> TableCursor {
        TableCursor(try snapshot.transaction.cursor(in: table), over: view)
    }

    /// Throws ``StoreError/corrupt(_:)`` for a key that no table can have: a batch of another host says any.
    mutating func set(_ key: RawSpan, to value: RawSpan, in table: Table) throws(StoreError) {
        guard 1...StoreLimits.keyByteCountMax ~= key.byteCount else {
            throw .corrupt("table \(table.name): a key of \(key.byteCount) bytes")
        }
        let isFirst = memtable.put(key, value, in: table.number)
        operations.notePut(key, value, in: table.number)
        let byteCount = key.byteCount + value.byteCount + StoreLimits.entryOverheadByteCount
        let half = snapshot.store.environment.pageByteCount / 2
        // Of a page that is split each part is about half full, but where few entries fit: one may be left with a page
        // of its own, which needs an entry in the page above.
        entryByteCount +=
            byteCount > half / 2 ? max(byteCount, half) + key.byteCount + 16 : byteCount
        if isFirst { countPage(ofNew: key, in: table) }
    }

    private mutating func countPage(ofNew key: RawSpan, in table: Table) {
        // In one of the tables are keys of several kinds, by their first bytes.
        let kind =
            table == snapshot.tables.index ? 8 | Int(key.byte(0) & 7) : Int(table.number & 7)
        switch memtable.findTouchedPage(of: key, kind: kind) {
        case .counted: return
        case .lookUp:
            if (try? noteGap(of: key, in: table, kind: kind)) == true { touchedPageCount += 1 }
        case .uncounted: break
        }
        touchedPageCount += 1
    }

    /// Notes the page that the value of a key is on, and returns how many pages its removal may copy that are not counted
    /// yet: a page of short values that is left nearly empty is merged with one beside it. One where the frozen memtable
    /// alone has the key, which may come into any.
    private func noteRemoved(_ key: RawSpan, in table: Table) -> Int {
        guard let place = try? snapshot.transaction.view.place(ofValueFor: key, in: table) else {
            return 1
        }
        if memtable.noteTouched(page: place.page) { return 0 }
        return place.byteCount > snapshot.store.environment.pageByteCount / 2 ? 1 : 2
    }

    /// Notes which keys stand around one in the tree that the memtable will be put into. Returns whether it is in a gap:
    /// that may be on two pages, the end of one and the start of the next.
    private func noteGap(
        of key: RawSpan, in table: Table, kind: Int
    ) throws(StoreError) -> Bool {
        let below = frozen.map {
            MemtableView(MemtableList(address: $0.address), over: nil)
        }
        var cursor = TableCursor(try snapshot.transaction.cursor(in: table), over: below)
        var upper: [UInt8]?
        var lower: [UInt8]?
        if try cursor.seek(key) {
            // One that is there is in no gap.
            if cursor.key.equals(key) { return false }
            upper = cursor.key.array()
            if try cursor.go(.previous) { lower = cursor.key.array() }
        } else if try cursor.go(.last) {
            lower = cursor.key.array()
        }
        memtable.noteTouchedGap(after: lower, before: upper, kind: kind)
        return true
    }

    /// Stores `value` unless something is there. Returns false when there is.
    mutating func insert(
        _ key: RawSpan, _ value: RawSpan, in table: Table
    ) throws(StoreError) -> Bool {
        guard try get(key, in: table) == nil else { return false }
        try set(key, to: value, in: table)
        return true
    }

    /// - Returns: false when it was not there.
    @discardableResult
    mutating func remove(_ key: RawSpan, in table: Table) throws(StoreError) -> Bool {
        guard try get(key, in: table) != nil else { return false }
        removeFound(key, in: table)
        return true
    }

    /// Removes what was found there.
    mutating func removeFound(_ key: RawSpan, in table: Table) {
        let isFirst = memtable.delete(key, in: table.number)
        operations.noteDelete(key, in: table.number)
        // What was put since the last commit is counted, and a chunk that was is on no page.
        let pageCount = isFirst ? noteRemoved(key, in: table) : 0
        if table.isWrittenOnce {
            removedChunkPageCount += pageCount
        } else {
            // It is reckoned twice, as of pages that are split.
            touchedPageCount += min(pageCount, 1)
            entryByteCount += key.byteCount + StoreLimits.entryOverheadByteCount
        }
    }

    /// Does an operation again.
    mutating func redo(
        _ operation: borrowing OperationReader.Operation, in table: Table
    ) throws(StoreError) {
        if operation.isPut {
            try set(operation.key, to: operation.value, in: table)
        } else {
            try remove(operation.key, in: table)
        }
    }

    /// Stores `first` and `second`, one after the other, in a table whose values are long, or many: it is not counted.
    /// What the log does not have is committed with this batch, and so is not copied where it is long.
    mutating func set(
        _ key: RawSpan, to first: RawSpan, _ second: ArraySlice<UInt8>, in table: Table
    ) {
        if second.count >= Self.keptByteCountMin, !operations.notes(table.number) {
            memtable.put(key, first, keeping: second, in: table.number)
        } else {
            memtable.put(key, first, second.span.bytes, in: table.number)
        }
        operations.notePut(key, first, second.span.bytes, in: table.number)
    }

    private static let keptByteCountMin = 16 << 10
}

extension Snapshot {
    /// The counters, as they are committed, where they can be replaced: with them the page is that they are on.
    fileprivate borrowing func soundCounters() throws(StoreError) -> Counters {
        let name = Counters.name.utf8.span.bytes
        guard let value = try transaction.view.get(name, in: tables.meta) else {
            throw .corrupt("the counters are missing")
        }
        guard transaction.view.isOnSoundPage(value) else {
            throw StoreError(.outOfBounds("mdb_get"), at: name, in: tables.meta.name)
        }
        return try Counters(value)
    }
}
