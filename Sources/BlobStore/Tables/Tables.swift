internal import LMDB

/// The tables of a store (`docs/FORMAT.md`).
struct Tables: Sendable {
    let notifications: Table
    let blobs: Table
    let chunks: Table
    /// What ends when, and what owners have; called `expiry` in the file.
    let index: Table
    let orphans: Table
    let meta: Table
    /// Those whose pages changes copy; to the end of the chunks' they only add.
    let allButChunks: [Table]

    static let names: [StaticString] = [
        "notifications", "blobs", "chunks", "expiry", "orphans", "meta",
    ]
    /// Room for tables that later versions add.
    static let countMax = 32

    /// The table that says what the others are.
    static func openMeta(_ environment: Environment) throws(LMDBError) -> Table {
        try environment.openTables(["meta"])[0]
    }

    init(opening environment: Environment) throws(LMDBError) {
        self.init(try environment.openTables(Self.names))
    }

    init(creatingIn transaction: inout WriteTransaction) throws(LMDBError) {
        var tables: [Table] = []
        for name in Self.names {
            tables.append(try transaction.openTable(name, creating: true))
        }
        self.init(tables)
    }

    private init(_ tables: [Table]) {
        var tables = tables
        // A blob's number, and so its chunks' keys, are never used again.
        tables[2].isWrittenOnce = true
        notifications = tables[0]
        blobs = tables[1]
        chunks = tables[2]
        index = tables[3]
        orphans = tables[4]
        meta = tables[5]
        allButChunks = [notifications, blobs, index, orphans, meta]
    }

    var all: [Table] { [notifications, blobs, chunks, index, orphans, meta] }
}
