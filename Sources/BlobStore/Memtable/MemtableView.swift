internal import Bytes
internal import Glibc
internal import Synchronization

/// What is acknowledged and not in a commit, as a reader sees it: the memtable there was when it began, with the
/// operations that were acknowledged then, over the one before, where that is not in the reader's commit. A plain
/// value; whoever has it keeps the memtables.
struct MemtableView {
    private let newer: MemtableList
    private let older: MemtableList?

    /// What a view of `commit` has to look at first; nil where the commit has it all.
    ///
    /// - Parameter address: of the memtable there was before the view began; 0: none.
    @inline(__always)
    init?(address: UInt, over commit: UInt64) {
        guard address != 0 else { return nil }
        self.init(address: address, over: commit, ())
    }

    @inline(never)
    private init?(address: UInt, over commit: UInt64, _: Void) {
        let list = MemtableList(address: address)
        if list.base == commit {
            self.init(list, over: nil)
        } else if list.base == commit + 1, let older = list.older {
            // It was frozen before the memtable over it was begun: nothing comes to it.
            self.init(list, over: MemtableList(address: older))
        } else {
            return nil
        }
    }

    init(_ newer: MemtableList, over older: MemtableList?) {
        self.newer = newer
        self.older = older
    }

    func find(_ key: RawSpan, in table: UInt8) -> MemtableList.Finding {
        let found = newer.find(key, in: table)
        guard case .nothing = found, let older else { return found }
        return older.find(key, in: table)
    }

    /// The newest visible entry of the first key of a table that is `key` or comes after it; nil: none.
    func entry(atOrAfter key: RawSpan, in table: UInt8) -> MemtableEntry? {
        let entry = newer.entry(atOrAfter: key, in: table)
        guard let older else { return entry }
        return first(of: entry, older.entry(atOrAfter: key, in: table))
    }

    /// The newest visible entry of the first key after that of an entry; nil: none.
    func entry(after entry: MemtableEntry) -> MemtableEntry? {
        guard let older else { return newer.entry(after: entry) }
        return first(of: newer.seek(after: entry), older.seek(after: entry))
    }

    /// The newest visible entry of the last key of a table before `key`, or before its end; nil: none.
    func entry(before key: RawSpan?, in table: UInt8) -> MemtableEntry? {
        let entry = newer.entry(before: key, in: table)
        guard let older, let other = older.entry(before: key, in: table) else { return entry }
        guard let entry else { return other }
        return entry.key.order(to: other.key) >= 0 ? entry : other
    }

    /// Of the same key that of the newer memtable.
    private func first(of entry: MemtableEntry?, _ other: MemtableEntry?) -> MemtableEntry? {
        guard let entry, let other else { return entry ?? other }
        return entry.key.order(to: other.key) <= 0 ? entry : other
    }
}
