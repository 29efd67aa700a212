internal import LMDB
internal import Synchronization

// What a batch does is noted for where it goes: for the log, which does it again after a crash, and for the
// outbox, where it waits to be shipped.

extension ChangeTransaction {
    /// Begins a batch, in a transaction that may have others.
    mutating func beginBatch(_ destination: BatchDestination, of replication: Replication) {
        self.destination = destination
        let isShipped = replication.capturesChanges.load(ordering: .relaxed)
        sequence = isShipped ? replication.lastSequence.load(ordering: .relaxed) + 1 : 0
        storedBlobs.removeAll(keepingCapacity: true)
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
                ignoring: tables.chunks)
        }
    }

    /// Puts what this batch did among what waits to be shipped.
    ///
    /// - Returns: nil where nothing is shipped, or nothing of it is.
    /// - Throws: ``StoreError/full`` when it is too long; fewer changes are shorter.
    mutating func capture() throws(StoreError) -> CapturedBatch? {
        guard sequence > 0 else { return nil }
        guard !transaction.operations.isOverfull else { throw .full }
        var writer = ReplicatedBatchWriter()
        try writer.append(
            transaction.operations.bytes.extracting(
                droppingFirst: transaction.operations.prefixByteCount), of: tables)
        guard !writer.isEmpty || !storedBlobs.isEmpty else { return nil }
        let batch = writer.finish(
            sequence: sequence, asOf: now, counters, in: tables.meta, storing: storedBlobs)
        let key = IndexKeys.outbox(sequence)
        try transaction.set(key.span.bytes, to: batch.span.bytes, in: tables.index)
        return CapturedBatch(
            sequence: sequence,
            byteCount: storedBlobs.reduce(batch.count) { $0 + $1.storedByteCount },
            firstBlobNumber: storedBlobs.min { $0.number < $1.number }?.number)
    }
}
