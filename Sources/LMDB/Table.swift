internal import CLMDB
internal import Synchronization

/// A named table of an environment (LMDB's *database*, `MDB_dbi`).
package struct Table: Sendable, Equatable {
    let handle: MDB_dbi

    /// The name it is kept under in the main table.
    package let name: StaticString

    /// Its place among those it was opened with (``Environment/openTables(_:)``): what the log calls it.
    package internal(set) var number: UInt8 = 0

    /// Whether nothing in it is ever replaced: its long values then have exactly the pages that they
    /// need.
    package var isWrittenOnce = false

    var valueKind: MapBounds.Kind { isWrittenOnce ? .valueWrittenOnce : .value }

    package static func == (left: Table, right: Table) -> Bool { left.handle == right.handle }
}

/// At which pages the tables begin in the commit that a view sees. liblmdb does not tell its roots, so they are
/// read where it reads them: in the commit's meta page, and in the main table.
@safe struct TableRoots {
    private let search: TreeSearch
    /// The root of the main table; ``unknown`` where liblmdb is to be asked for every key.
    private var main = Self.unknown
    /// The commit they are of, where one number always means one state; 0 elsewhere.
    private var commit: UInt64 = 0
    /// Which of ``roots`` are known, a bit each.
    private var known: UInt64 = 0
    private var roots = InlineArray<8, UInt64>(repeating: 0)

    /// No page has this number, and an empty table another.
    private static let unknown = UInt64.max - 1
    /// The handles of named tables begin after `FREE_DBI` and `MAIN_DBI`.
    private static let firstHandle: MDB_dbi = 2

    init(_ bounds: MapBounds) { search = TreeSearch(bounds: bounds) }

    /// A view of `commit` begins. `isSame`: whether a view of the same commit sees what the one before has
    /// seen.
    @inline(__always)
    mutating func begin(_ commit: UInt64, isSame: Bool) {
        if isSame, commit == self.commit { return }
        known = 0
        self.commit = isSame ? commit : 0
        main = search.bounds.mainRoot(of: commit) ?? Self.unknown
    }

    /// The value of `key` in `table`; nil when it is not there. `found`: set to the value when there is one.
    /// Returns false when liblmdb has to be asked.
    @inline(__always)
    mutating func find(
        _ key: RawSpan, in table: Table, _ found: inout MDB_val?
    ) throws(LMDBError) -> Bool {
        let number = Int(table.handle &- Self.firstHandle)
        guard number < roots.count, key.byteCount > 0 else { return false }
        if known >> UInt64(number) & 1 == 0 {
            guard try learn(table, number) else { return false }
        }
        unsafe found = try search.value(of: key, root: roots[number])
        return true
    }

    @inline(never)
    private mutating func learn(_ table: Table, _ number: Int) throws(LMDBError) -> Bool {
        guard main != Self.unknown, let root = try search.root(of: table.name, main: main) else {
            return false
        }
        roots[number] = root
        known |= 1 << UInt64(number)
        return true
    }
}

extension MapBounds {
    /// The root of the main table in the last commit, from its meta page (`MDB_meta`); nil when that cannot be
    /// told. A commit writes the meta page of the one before the last. So if the other page is not of the next
    /// commit after the root was read, the root is of this commit.
    @inline(__always)
    func mainRoot(of commit: UInt64) -> UInt64? {
        guard isSearchable,
            let own = unsafe page(commit & 1, atLeast: UInt(PageLayout.metaByteCount)),
            let other = unsafe page(~commit & 1, atLeast: UInt(PageLayout.metaByteCount)),
            unsafe own.load(fromByteOffset: PageLayout.metaCommitOffset, as: UInt64.self) == commit
        else { return nil }
        let root = unsafe own.load(fromByteOffset: PageLayout.metaRootOffset, as: UInt64.self)
        atomicMemoryFence(ordering: .acquiring)
        let last = unsafe other.load(fromByteOffset: PageLayout.metaCommitOffset, as: UInt64.self)
        return last < commit ? root : nil
    }
}
