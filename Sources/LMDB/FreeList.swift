internal import Bytes
internal import CLMDB

/// LMDB's list of free pages (`FREE_DBI`): a record for each commit that has freed some, with their numbers. A
/// writer takes pages from the records of commits that are older than every reader, and than the last commit, and
/// writes over them as it likes.
@safe package struct FreeList: ~Copyable, ~Escapable {
    private var cursor: Cursor

    /// Opens the list as a transaction sees it. It stands nowhere yet.
    @_lifetime(borrow transaction)
    package init(_ transaction: borrowing ReadTransaction) throws(LMDBError) {
        cursor = try Cursor(transaction, in: .freePages)
    }

    /// Moves to the record of the last commit before `commit` that has freed pages, if there is one.
    @_lifetime(self: copy self)
    package mutating func move(before commit: UInt64) throws(LMDBError) -> Bool {
        var key = UInt(commit)
        let isThere = try unsafe withUnsafeBytes(of: &key) { bytes throws(LMDBError) in
            try unsafe cursor.move(toKeyAtOrAfter: RawSpan(_unsafeBytes: bytes))
        }
        return try cursor.move(isThere ? .previous : .last)
    }

    @_lifetime(self: copy self)
    package mutating func moveToPrevious() throws(LMDBError) -> Bool { try cursor.move(.previous) }

    package var commit: UInt64 { Self.number(cursor.key, 0) }

    package var count: Int {
        // The first number says how many follow; a record that has fewer is damaged.
        min(Int(clamping: Self.number(cursor.value, 0)), max(0, cursor.value.byteCount / 8 - 1))
    }

    /// The number of a page of the record. They descend.
    package func page(_ index: Int) -> UInt64 { Self.number(cursor.value, index + 1) }

    private static func number(_ bytes: RawSpan, _ index: Int) -> UInt64 {
        8 * (index + 1) <= bytes.byteCount ? bytes.word(8 * index) : 0
    }
}

extension Table {
    /// Handle 0 is LMDB's FREE_DBI.
    fileprivate static var freePages: Table { Table(handle: 0, name: "free pages") }
}
