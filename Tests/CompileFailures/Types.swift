// Misuses that the type checker refuses: the comment above each says with which words.

import BlobStore

@testable import LMDB

// A borrowed transaction is stored in a value that may go anywhere.
// error: stored property 'view' of 'Escapable'-conforming struct
struct Keeper {
    var view: ReadView
}

// A snapshot is opened where the function may be suspended, and would keep space from being used
// again meanwhile.
// error: a snapshot must not be held across a suspension
func snapshotAcrossAwait(_ store: BlobStore) async throws {
    let snapshot = try store.makeSnapshot()
    await Task.yield()
    _ = consume snapshot
}

// A payload is handed out as the closure's result.
// error: requires that 'Payload' conform to 'Escapable'
func viewReturnedFromClosure(_ store: BlobStore, _ now: Timestamp) throws {
    _ = try store.withPayload(for: "42", asOf: now) { (payload: Payload) -> Payload in payload }
}
