internal import LMDB
internal import Synchronization

// What a transaction did is put beside it, in the same commit, until it is shipped: the outbox.

extension ChangeTransaction {
    /// Begins a batch in a transaction that has others.
    mutating func beginBatch(of replication: Replication) {
        guard sequence > 0 else { return }
        sequence = replication.lastSequence.load(ordering: .relaxed) + 1
        storedBlobs.removeAll(keepingCapacity: true)
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
