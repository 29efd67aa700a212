// error: overlapping accesses to 'transaction'

// A table is changed under a cursor.

@testable import LMDB

func change(_ environment: Environment, _ table: Table) throws {
    let key: [UInt8] = [1]
    var transaction = try environment.beginWrite()
    var cursor = try Cursor(transaction, in: table)
    try transaction.delete(key.span.bytes, in: table)
    _ = try cursor.move(.first)
}
