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
        let hash = newer.hash(key, table)
        let found = newer.find(key, in: table, hash)
        guard case .nothing = found, let older else { return found }
        return older.find(key, in: table, hash)
    }

    /// The first key of a table that is `key` or comes after it.
    func position(atOrAfter key: RawSpan, in table: UInt8) -> MemtablePosition {
        MemtablePosition(
            newer: newer.entry(atOrAfter: key, in: table),
            older: older?.entry(atOrAfter: key, in: table), isForward: true)
    }

    /// The last key of a table before `key`, or before its end.
    func position(before key: RawSpan?, in table: UInt8) -> MemtablePosition {
        MemtablePosition(
            newer: newer.entry(before: key, in: table),
            older: older?.entry(before: key, in: table), isForward: false)
    }

    /// The first key after that of an entry, at which `position` is.
    func position(after entry: MemtableEntry, _ position: MemtablePosition) -> MemtablePosition {
        var next = position
        if !position.isForward { next = self.position(atOrAfter: entry.key, in: entry.table) }
        // Both stand at this key, or after it.
        if let at = next.newer, at.key.equals(entry.key) { next.newer = newer.entry(after: at) }
        if let at = next.older, at.key.equals(entry.key) { next.older = older?.entry(after: at) }
        return next
    }
}

/// A place in a table of a view: the newest visible entries of a key in each memtable, of which the nearer one counts.
struct MemtablePosition {
    fileprivate(set) var newer: MemtableEntry?
    fileprivate(set) var older: MemtableEntry?
    fileprivate(set) var isForward = true

    /// Where the position is; nil: there is no such key.
    var entry: MemtableEntry? {
        guard let newer, let older else { return newer ?? older }
        // Of the same key that of the newer memtable.
        let order = newer.key.order(to: older.key)
        return (isForward ? order <= 0 : order >= 0) ? newer : older
    }
}
