// error: lifetime-dependent value escapes its scope

// A chunk is returned from the function that opened its snapshot.

import BlobStore

@_lifetime(borrow store)
func chunk(_ store: BlobStore, _ id: RawSpan, _ now: Timestamp) throws -> RawSpan {
    let snapshot = try store.makeSnapshot()
    switch try snapshot.payload(for: id, part: RawSpan(), asOf: now) {
    case .found(let payload): return try payload.storedChunk(0)
    case .expired, .missing: return RawSpan()
    }
}
