internal import Bytes
internal import LMDB

// What the tables say of a shard: its state, and the batches that wait to be shipped.

extension Snapshot {
    /// Batches that wait to be shipped, in order. One is given however long it is.
    borrowing func outbox(
        after sequence: UInt64, upTo last: UInt64, byteCountMax: Int
    ) throws(StoreError) -> [ReplicatedBatch] {
        var batches: [ReplicatedBatch] = []
        var byteCount = 0
        try forEachBatch(after: sequence) { (batch) throws(StoreError) in
            byteCount += batch.byteCountWithBlobs
            guard batch.sequence <= last, batches.isEmpty || byteCount <= byteCountMax else {
                return false
            }
            batches.append(batch)
            return true
        }
        return batches
    }

    /// Calls `body` with the batches that wait to be shipped after a number, in order, as long as it returns true.
    borrowing func forEachBatch(
        after sequence: UInt64, _ body: (ReplicatedBatch) throws(StoreError) -> Bool
    ) throws(StoreError) {
        var next = sequence + 1
        try walk(tables.index, from: IndexKeys.outbox(next).span.bytes) {
            (cursor) throws(StoreError) in
            guard cursor.key.byte(0) == IndexKeys.outboxPrefix else { return false }
            let batch = try ReplicatedBatch(cursor.value.array())
            guard IndexKeys.number(cursor.key) == batch.sequence, batch.sequence == next else {
                throw .corrupt("the batch \(next) that waits to be shipped")
            }
            next += 1
            return try body(batch)
        }
    }
}

extension ReplicatedBatch {
    /// Its bytes with those of the blobs that are shipped with it.
    package var shippedByteCount: Int {
        shippedBlobs.reduce(bytes.count) { $0 + $1.storedByteCount }
    }

    /// Its bytes with those of all blobs that it stored.
    package var byteCountWithBlobs: Int {
        blobs.reduce(bytes.count) { $0 + $1.storedByteCount }
    }
}
