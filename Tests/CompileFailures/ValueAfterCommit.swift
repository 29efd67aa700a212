// error: cannot be consumed when captured by an escaping closure or borrowed by a non-Escapable
// type

// A value is used after its transaction was committed.

@testable import LMDB

func change(_ environment: Environment, _ table: Table) throws -> Int {
    let key: [UInt8] = [1]
    let transaction = try environment.beginWrite()
    let value = try transaction.value(forKey: key.span.bytes, in: table)
    try transaction.commit()
    return value?.byteCount ?? 0
}
