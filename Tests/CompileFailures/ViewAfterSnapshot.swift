// error: cannot be consumed when captured by an escaping closure or borrowed by a non-Escapable
// type

// A payload is used after its snapshot has ended.

import BlobStore

func read(_ store: BlobStore, _ now: Timestamp) throws -> Int {
    let id = Array("42".utf8)
    let snapshot = try store.makeSnapshot()
    let found = try snapshot.payload(for: id.span.bytes, part: RawSpan(), asOf: now)
    end(snapshot)
    switch found {
    case .found(let payload): return try payload.storedChunk(0).byteCount
    case .expired, .missing: return 0
    }
}

func end(_ snapshot: consuming Snapshot) {}
