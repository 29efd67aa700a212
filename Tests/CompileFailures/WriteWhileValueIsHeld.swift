// error: overlapping accesses to 'transaction'

// A value is read after a change that may have moved it.

@testable import LMDB

func change(_ environment: Environment, _ table: Table) throws -> Int {
    let key: [UInt8] = [1]
    var transaction = try environment.beginWrite()
    let value = try transaction.value(forKey: key.span.bytes, in: table)
    try transaction.put(key.span.bytes, forKey: key.span.bytes, in: table)
    return value?.byteCount ?? 0
}
