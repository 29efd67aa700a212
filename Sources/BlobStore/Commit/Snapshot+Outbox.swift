internal import Bytes
internal import LMDB

// What the tables say of a shard: its state, and the batches that wait to be shipped.

extension Snapshot {
    /// What the tables say of the replication.
    borrowing func replicationKnowledge() throws(StoreError) -> Replication.Knowledge {
        var knowledge = Replication.Knowledge()
        if let value = try meta(ReplicationState.name) {
            knowledge.state = try ReplicationState(value)
        }
        if let value = try meta(EpochList.name) { knowledge.epochs = try EpochList(value) }
        knowledge.saved = knowledge.state
        return knowledge
    }

    /// One batch of the outbox, as it is shipped; nil when it is not there.
    borrowing func outboxBatch(_ sequence: UInt64) throws(StoreError) -> [UInt8]? {
        let key = IndexKeys.outbox(sequence)
        return try transaction.view.get(key.span.bytes, in: store.tables.index)?.array()
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
        var cursor = try transaction.cursor(in: store.tables.index)
        let first = IndexKeys.outbox(sequence + 1)
        var isThere = try cursor.seek(first.span.bytes)
        while isThere, cursor.key.byte(0) == IndexKeys.outboxPrefix,
            let number = IndexKeys.number(cursor.key), number <= last
        {
            let batch = try ReplicatedBatch(cursor.value.array())
            guard batch.sequence == number, number == sequence + 1 + UInt64(batches.count) else {
                throw .corrupt("the batch \(number) that waits to be shipped")
            }
            byteCount += batch.byteCountWithBlobs
            guard batches.isEmpty || byteCount <= byteCountMax else { break }
            batches.append(batch)
            isThere = try cursor.next()
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
