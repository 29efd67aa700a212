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

    /// Of a key, as ``find(_:in:_:)`` takes it: the same in the memtable below.
    func hash(_ key: RawSpan, _ table: UInt8) -> UInt64 { head.pointee.keys.hash(key, table) }

    func find(_ key: RawSpan, in table: UInt8, _ hash: UInt64) -> Finding {
        guard let found = head.pointee.keys.find(key, in: table, hash),
            let entry = found.entry(upTo: operationCount)
        else { return .nothing }
        guard entry.length >= 0 else { return .deleted }
        return .value(UnsafeRawBufferPointer(start: entry.value, count: entry.length))
    }

    /// The newest visible entry of the first key of a table that is `key` or comes after it; nil: none.
    func entry(atOrAfter key: RawSpan, in table: UInt8) -> MemtableEntry? {
        var before = InlineArray<12, UInt>(repeating: 0)
        return first(from: findBefore(table, key, &before), in: table)
    }

    /// The newest visible entry of the first key after that of an entry; nil: none.
    func entry(after entry: MemtableEntry) -> MemtableEntry? {
        let key = entry.node
        return first(from: key.links[0].load(ordering: .acquiring), in: key.table)
    }

    /// The newest visible entry of the last key of a table before `key`, or before its end; nil: none.
    func entry(before key: RawSpan?, in table: UInt8) -> MemtableEntry? {
        var bound = key
        while true {
            var before = InlineArray<12, UInt>(repeating: 0)
            if let bound {
                findBefore(table, bound, &before)
            } else {
                findBefore(table + 1, RawSpan(), &before)
            }
            guard let last = MemtableKey(before[0]), last.table == table else { return nil }
            if let entry = last.entry(upTo: operationCount) { return entry }
            bound = last.key
        }
    }

    /// From a key on, the first entry that is visible.
    private func first(from address: UInt, in table: UInt8) -> MemtableEntry? {
        var address = address
        while let key = MemtableKey(address), key.table == table {
            if let entry = key.entry(upTo: operationCount) { return entry }
            address = key.links[0].load(ordering: .acquiring)
        }
        return nil
    }

    /// Calls `body` with the newest entry of each key, in order.
    func forEachNewest<Failure: Error>(
        _ body: (MemtableEntry) throws(Failure) -> Void
    ) throws(Failure) {
        var address = links(of: 0)[0].load(ordering: .acquiring)
        while let key = MemtableKey(address) {
            if let entry = key.entry(upTo: operationCount) { try body(entry) }
            address = key.links[0].load(ordering: .acquiring)
        }
    }

    /// The links of a key; of the head for 0.
    func links(of address: UInt) -> UnsafeMutablePointer<Atomic<UInt>> {
        MemtableKey(address)?.links ?? head.pointee.links
    }

    /// Finds for each level the last key before `key`; 0: the head. Returns the first one that is not before it; 0:
    /// none.
    ///
    /// - Parameter before: keys that are known to be before it, where the search begins; 0: the head.
    @discardableResult
    func findBefore(
        _ table: UInt8, _ key: RawSpan, _ before: inout InlineArray<12, UInt>
    ) -> UInt {
        let prefix = MemtableKey.prefix(table, key)
        var level = MemtableHead.heightMax - 1
        var address = before[level]
        while true {
            let next = links(of: address)[level].load(ordering: .acquiring)
            if let node = MemtableKey(next), node.isBefore(key, prefix) {
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
}
