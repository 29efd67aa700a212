// error: 'transaction' used after consume

// A transaction is used after it was committed: liblmdb has freed it.

@testable import LMDB

func change(_ environment: Environment, _ table: Table) throws {
    let key: [UInt8] = [1]
    var transaction = try environment.beginWrite()
    try transaction.commit()
    try transaction.delete(key.span.bytes, in: table)
}
