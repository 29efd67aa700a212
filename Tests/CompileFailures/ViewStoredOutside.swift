// error: lifetime-dependent variable 'kept' escapes its scope

// A payload is kept in a variable that lives longer than the call that it was borrowed in.

import BlobStore

func keep(_ store: BlobStore, _ now: Timestamp) throws -> Int {
    var kept = RawSpan()
    _ = try store.withPayload(for: "42", asOf: now) { payload in
        kept = try payload.storedChunk(0)
    }
    return kept.byteCount
}
