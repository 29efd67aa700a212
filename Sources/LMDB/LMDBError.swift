internal import CLMDB
internal import Glibc

/// What liblmdb answered when it did not do what it was asked.
///
/// `MDB_NOTFOUND` is never thrown: a missing value is `nil`, a missing key to delete is `false`.
package struct LMDBError: Error, Equatable, CustomStringConvertible {
    /// The return code: an `MDB_…` constant (negative) or an `errno` (positive).
    package let code: Int32

    /// The call that answered with it, for the log.
    package let call: StaticString

    package init(code: Int32, call: StaticString) {
        self.code = code
        self.call = call
    }

    package static func == (left: LMDBError, right: LMDBError) -> Bool { left.code == right.code }

    /// What a page says of a value cannot be: it would not be inside of the file, or not inside of
    /// the pages it has. No code of liblmdb's, which begin at -30,799.
    package static func outOfBounds(_ call: StaticString) -> LMDBError {
        LMDBError(code: outOfBoundsCode, call: call)
    }
    static let outOfBoundsCode: Int32 = -30_001

    /// The map has no room for another page (`MDB_MAP_FULL`): the store has reached the size it may
    /// have.
    package var isMapFull: Bool { code == MDB_MAP_FULL }

    /// Every reader slot is taken (`MDB_READERS_FULL`).
    package var isReadersFull: Bool { code == MDB_READERS_FULL }

    /// The file has grown beyond the map of this process (`MDB_MAP_RESIZED`).
    package var isMapTooSmall: Bool { code == MDB_MAP_RESIZED }

    /// The transaction has more dirty pages than LMDB can keep (`MDB_TXN_FULL`).
    package var isTransactionFull: Bool { code == MDB_TXN_FULL }

    /// There is no table of that name, or the file is not one with tables (`MDB_NOTFOUND`,
    /// `MDB_INCOMPATIBLE`).
    package var isNotFound: Bool { code == MDB_NOTFOUND || code == MDB_INCOMPATIBLE }

    /// A meta page could not be written, so LMDB gives no more transactions (`MDB_PANIC`). The
    /// process must open it again.
    package var isFatal: Bool { code == MDB_PANIC }

    /// Pages do not make sense (`MDB_CORRUPTED`, `MDB_PAGE_NOTFOUND`, `MDB_INVALID`,
    /// `MDB_CURSOR_FULL`, which says that pages go round in a circle), or a value's place does not.
    package var isCorruption: Bool {
        code == MDB_CORRUPTED || code == MDB_PAGE_NOTFOUND || code == MDB_INVALID
            || code == MDB_CURSOR_FULL || isOutOfBounds
    }

    /// A value's place or size does not make sense. A cursor that says so can be moved on.
    package var isOutOfBounds: Bool { code == Self.outOfBoundsCode }

    /// The code as `errno`, or nil where it is one of LMDB's own.
    package var systemError: Int32? { code > 0 ? code : nil }

    package var description: String {
        if isOutOfBounds { return "\(call): the entry is not within its pages" }
        let words = unsafe mdb_strerror(code).map { unsafe String(cString: $0) } ?? "unknown"
        return "\(call): \(words) (\(code))"
    }

    static func check(_ code: Int32, _ call: StaticString) throws(LMDBError) {
        guard code == MDB_SUCCESS else { throw LMDBError(code: code, call: call) }
    }
}
