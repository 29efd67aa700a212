// error: 'snapshot' is borrowed and cannot be consumed

// A closure's borrowed snapshot is kept beyond it.

import BlobStore

func keep(_ store: BlobStore) throws {
    try store.withSnapshot { (snapshot: borrowing Snapshot) throws(StoreError) in
        end(snapshot)
    }
}

func end(_ snapshot: consuming Snapshot) {}
