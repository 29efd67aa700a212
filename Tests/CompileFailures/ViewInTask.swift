// error: lifetime-dependent variable 'payload' escapes its scope

// A payload is captured by a task, which may run when the snapshot has long ended.

import BlobStore

func read(_ store: BlobStore, _ now: Timestamp) throws {
    _ = try store.withPayload(for: "42", asOf: now) { payload in
        Task { print(payload.byteCount) }
    }
}
