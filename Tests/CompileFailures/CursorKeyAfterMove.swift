// error: overlapping accesses to 'cursor'

// A key is used after the cursor has moved on.

@testable import LMDB

func walk(_ environment: Environment, _ table: Table) throws -> Int {
    let transaction = try environment.beginRead()
    var cursor = try Cursor(transaction, in: table)
    _ = try cursor.move(.first)
    let key = cursor.key
    _ = try cursor.move(.next)
    return key.byteCount
}
