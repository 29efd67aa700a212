internal import Bytes
internal import Glibc
internal import Synchronization

/// One memtable as a reader sees it: with the operations up to a number. A plain value; whoever has it keeps the
/// memtable.
struct MemtableList {
    private let head: UnsafeMutablePointer<MemtableHead>
    let operationCount: UInt64

    init(address: UInt, operationCount: UInt64) {
        head = UnsafeMutablePointer(bitPattern: address)!
        self.operationCount = operationCount
    }

    /// With what is acknowledged now.
    init(address: UInt) {
        head = UnsafeMutablePointer(bitPattern: address)!
        operationCount = head.pointee.published.load(ordering: .acquiring)
    }

    /// The commit that it is on top of.
    var base: UInt64 { head.pointee.base }
    /// The memtable that is committed before it, which was not when it was begun; nil: none.
    var older: UInt? { head.pointee.older == 0 ? nil : head.pointee.older }

    /// What it says of a key.
    enum Finding {
        /// Nothing: `data.mdb` is right.
        case nothing
        case deleted
        case value(UnsafeRawBufferPointer)
    }

    func find(_ key: RawSpan, in table: UInt8) -> Finding {
        guard head.pointee.filter.mayContain(key, in: table),
            let entry = MemtableEntry(first(table, key, operationCount)), entry.table == table,
            entry.key.equals(key)
        else { return .nothing }
        guard entry.length >= 0 else { return .deleted }
        return .value(UnsafeRawBufferPointer(start: entry.value, count: entry.length))
    }

    /// The newest visible entry of the first key of a table that is `key` or comes after it; nil: none.
    func entry(atOrAfter key: RawSpan, in table: UInt8) -> MemtableEntry? {
        newest(first(table, key, .max), in: table)
    }

    /// The newest visible entry of the first key after that of an entry; nil: none.
    func entry(after entry: MemtableEntry) -> MemtableEntry? {
        // Entries of the same key stand next to each other.
        var address = entry.links[0].load(ordering: .acquiring)
        while let next = MemtableEntry(address), next.table == entry.table,
            next.key.equals(entry.key)
        {
            address = next.links[0].load(ordering: .acquiring)
        }
        return newest(address, in: entry.table)
    }

    /// The newest visible entry of the last key of a table before `key`, or before its end; nil: none.
    func entry(before key: RawSpan?, in table: UInt8) -> MemtableEntry? {
        var bound = key
        while true {
            var before = InlineArray<12, UInt>(repeating: 0)
            if let bound {
                findBefore(table, bound, .max, &before)
            } else {
                findBefore(table + 1, RawSpan(), .max, &before)
            }
            guard let last = MemtableEntry(before[0]), last.table == table else { return nil }
            let key = last.key
            if let found = newest(first(table, key, .max), in: table), found.key.equals(key) {
                return found
            }
            bound = key
        }
    }

    /// Like ``entry(after:)``, for an entry of whichever memtable.
    func seek(after entry: MemtableEntry) -> MemtableEntry? {
        let found = self.entry(atOrAfter: entry.key, in: entry.table)
        guard let found, found.key.equals(entry.key) else { return found }
        return self.entry(after: found)
    }

    /// From an entry on, the first that is visible.
    private func newest(_ address: UInt, in table: UInt8) -> MemtableEntry? {
        var address = address
        while let entry = MemtableEntry(address), entry.table == table {
            if entry.number <= operationCount { return entry }
            address = entry.links[0].load(ordering: .acquiring)
        }
        return nil
    }

    private func first(_ table: UInt8, _ key: RawSpan, _ number: UInt64) -> UInt {
        var before = InlineArray<12, UInt>(repeating: 0)
        return findBefore(table, key, number, &before)
    }

    /// Calls `body` with the newest entry of each key, in order.
    func forEachNewest<Failure: Error>(
        _ body: (MemtableEntry) throws(Failure) -> Void
    ) throws(Failure) {
        var address = links(of: 0)[0].load(ordering: .acquiring)
        var last: MemtableEntry?
        while let entry = MemtableEntry(address) {
            if entry.number <= operationCount {
                let isOlder = last.map { $0.table == entry.table && $0.key.equals(entry.key) }
                if isOlder != true { try body(entry) }
                last = entry
            }
            address = entry.links[0].load(ordering: .acquiring)
        }
    }

    /// The links of an entry; of the head for 0.
    func links(of address: UInt) -> UnsafeMutablePointer<Atomic<UInt>> {
        MemtableEntry(address)?.links ?? head.pointee.links
    }

    /// Finds for each level the last entry before a key and operation; 0: the head. Returns the first entry that is
    /// not before it; 0: none. It is the one that was compared: whoever looks again may find what the writer has put
    /// between the two meanwhile.
    ///
    /// - Parameter before: entries that are known to be before it, where the search begins; 0: the head.
    @discardableResult
    func findBefore(
        _ table: UInt8, _ key: RawSpan, _ number: UInt64, _ before: inout InlineArray<12, UInt>
    ) -> UInt {
        var level = MemtableHead.heightMax - 1
        var address = before[level]
        while true {
            let next = links(of: address)[level].load(ordering: .acquiring)
            if let entry = MemtableEntry(next), isBefore(entry, table, key, number) {
                address = next
            } else {
                // Nothing is passed on this level: what is known of the one below is as far, or further.
                let isKnown = address == before[level]
                before[level] = address
                if level == 0 { return next }
                level -= 1
                if isKnown { address = before[level] }
            }
        }
    }

    /// Entries of a key stand newest first.
    private func isBefore(
        _ entry: MemtableEntry, _ table: UInt8, _ key: RawSpan, _ number: UInt64
    ) -> Bool {
        if entry.table != table { return entry.table < table }
        let order = entry.key.order(to: key)
        return order == 0 ? entry.number > number : order < 0
    }
}
