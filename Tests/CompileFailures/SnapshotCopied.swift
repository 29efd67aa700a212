// error: 'snapshot' consumed more than once

// A snapshot has one owner, who ends it.

import BlobStore

func share(_ store: BlobStore) throws {
    let snapshot = try store.makeSnapshot()
    end(snapshot)
    end(snapshot)
}

func end(_ snapshot: consuming Snapshot) {}
