// error: a snapshot must not be held across a suspension

// A snapshot is opened where the function may be suspended, and would keep space from being used
// again meanwhile.

import BlobStore

func read(_ store: BlobStore) async throws {
    let snapshot = try store.makeSnapshot()
    await Task.yield()
    _ = consume snapshot
}
