// The control: what the files next to this one do wrong, done right. When this one fails to compile,
// the others fail for the wrong reason.

import BlobStore
@testable import LMDB

func sum(_ store: BlobStore, _ now: Timestamp) throws -> Int {
    let id = Array("42".utf8)
    let snapshot = try store.makeSnapshot()
    var count = 0
    switch try snapshot.payload(for: id.span.bytes, part: RawSpan(), asOf: now) {
    case .found(let payload): count = try payload.storedChunk(0).byteCount
    case .expired, .missing: break
    }
    let inside = try store.withPayload(for: "42", asOf: now) { payload in payload.byteCount }
    return count + (inside ?? 0)
}

func write(_ environment: Environment, _ table: Table) throws {
    let key: [UInt8] = [1]
    var transaction = try environment.beginWrite()
    let count = try transaction.value(forKey: key.span.bytes, in: table)?.byteCount ?? 0
    try transaction.put([UInt8(count)].span.bytes, forKey: key.span.bytes, in: table)
    try transaction.commit()
    let reading = try environment.beginRead()
    var cursor = try Cursor(reading, in: table)
    _ = try cursor.move(.first)
}

func later(_ store: BlobStore, _ now: Timestamp) async throws -> [UInt8]? {
    let bytes = try store.ownedPayload(for: "42", asOf: now)
    await Task.yield()
    return bytes
}
