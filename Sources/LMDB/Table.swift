internal import CLMDB

/// A named table of an environment (LMDB's *database*, `MDB_dbi`).
package struct Table: Sendable, Equatable {
    let handle: MDB_dbi

    /// The name it is kept under in the main table.
    package let name: StaticString

    /// Its place among those it was opened with (``Environment/openTables(_:)``): what a
    /// ``OperationBuffer`` calls it.
    package internal(set) var number: UInt8 = 0

    /// Whether nothing in it is ever replaced: its long values then have exactly the pages that they
    /// need.
    package var isWrittenOnce = false

    var valueKind: MapBounds.Kind { isWrittenOnce ? .valueWrittenOnce : .value }

    package static func == (left: Table, right: Table) -> Bool { left.handle == right.handle }
}

/// How many pages and entries a table has (`mdb_stat`).
package struct TableStatistics: Sendable, Equatable {
    package var entryCount: Int
    package var pageCount: Int
    package var depth: Int
}
