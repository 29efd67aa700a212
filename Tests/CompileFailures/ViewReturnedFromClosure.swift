// error: requires that 'Payload' conform to 'Escapable'

// A payload is handed out as the closure's result.

import BlobStore

func payload(_ store: BlobStore, _ now: Timestamp) throws {
    _ = try store.withPayload(for: "42", asOf: now) { (payload: Payload) -> Payload in payload }
}
