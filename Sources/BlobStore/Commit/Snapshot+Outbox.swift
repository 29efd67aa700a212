internal import Bytes
internal import LMDB

// What the tables say of a shard: its state, and the batches that wait to be shipped.

extension Snapshot {
    borrowing func replicationKnowledge() throws(StoreError) -> Replication.Knowledge {
        var knowledge = Replication.Knowledge()
        knowledge.state = try meta()
        knowledge.epochs = try meta() ?? EpochList()
        knowledge.saved = knowledge.state
        return knowledge
    }

    /// Batches that wait to be shipped, in order.
    ///
    /// - Parameters:
    ///   - sequence: the one before the first.
    ///   - last: the last one to give.
    ///   - byteCountMax: with the bytes of the blobs that they stored. One batch is given however long it is.
    borrowing func outbox(
        after sequence: UInt64, upTo last: UInt64, byteCountMax: Int
    ) throws(StoreError) -> [ReplicatedBatch] {
        var batches: [ReplicatedBatch] = []
        var byteCount = 0
        let first = IndexKeys.outbox(sequence + 1)
        try walk(tables.index, from: first.span.bytes) { (cursor) throws(StoreError) in
            guard cursor.key.byte(0) == IndexKeys.outboxPrefix,
                let number = IndexKeys.number(cursor.key), number <= last
            else { return false }
            let batch = try ReplicatedBatch(cursor.value.array())
            guard batch.sequence == number, number == sequence + 1 + UInt64(batches.count) else {
                throw .corrupt("the batch \(number) that waits to be shipped")
            }
            byteCount += batch.byteCountWithBlobs
            guard batches.isEmpty || byteCount <= byteCountMax else { return false }
            batches.append(batch)
            return true
        }
        return batches
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
