internal import LMDB
internal import Synchronization

// What a batch does is noted for the log, which does it again after a crash, and for the outbox.

extension ChangeTransaction {
    mutating func beginBatch(
        _ destination: BatchDestination, of replication: Replication
    ) throws(StoreError) {
        self.destination = destination
        firstUnseenBlobNumber = counters.nextBlobNumber
        // What is refused is found out in the same way.
        let isShipped =
            replication.capturesChanges.load(ordering: .relaxed)
            || replication.refusesChanges.load(ordering: .relaxed)
        sequence = isShipped ? replication.lastSequence.load(ordering: .relaxed) + 1 : 0
        storedBlobs.removeAll(keepingCapacity: true)
        if isShipped, replication.isUnconfirmed.load(ordering: .relaxed) {
            try skipNumbers(of: replication)
        }
        switch destination {
        case .log:
            // All of it. One that is too long for a record is checkpointed, and shipped nevertheless.
            transaction.operations.restart(
                prefixByteCount: LogRecord.byteCount,
                byteCountMax: isShipped
                    ? StoreLimits.replicatedBatchByteCountMax : StoreLimits.logRecordByteCountMax)
        case .checkpoint:
            // What is shipped alone. The bytes of chunks are shipped with the blobs that they belong to.
            transaction.operations.restart(
                prefixByteCount: 0,
                byteCountMax: isShipped ? StoreLimits.replicatedBatchByteCountMax : 0,
                ignoring: tables.chunks.number)
        }
    }

    /// Begins a batch of what is this store's own, of which nothing is shipped.
    mutating func beginOwnBatch() {
        destination = .log
        transaction.operations.restart(
            prefixByteCount: LogRecord.byteCount, byteCountMax: StoreLimits.logRecordByteCountMax)
    }

    /// The batch does again what a leader shipped: nothing of it is shipped from here, or refused.
    mutating func beginShippedBatch() {
        sequence = 0
        transaction.operations.restart(prefixByteCount: 0, byteCountMax: 0)
    }
}
