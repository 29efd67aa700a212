internal import Bytes
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

    /// Begins the revisions and assigned ids of a leader that was started without its bucket after a random gap:
    /// another copy of its store gives others, so that no cursor and no link is good for both.
    private mutating func skipNumbers(of replication: Replication) throws(StoreError) {
        let (state, epochs) = replication.shard.withLock { ($0.state, $0.epochs) }
        guard let state else { return }
        let before = counters.revision
        try counters.skip(.random(in: 1...StoreLimits.unconfirmedGapMax))
        newEpochs = epochs.adding(
            EpochList.Epoch(
                epoch: state.epoch, revisionBefore: before, revision: counters.revision,
                sequence: sequence - 1))
    }

    /// Takes back the gap before a batch of which nothing is shipped.
    mutating func unskipNumbers() {
        guard let begun = newEpochs?.epochs.last else { return }
        counters.unskip(begun.revision - begun.revisionBefore)
        newEpochs = nil
    }

    /// Puts what this batch did among what waits to be shipped; nil where nothing of it is. One that is too long is
    /// refused as ``StoreError/full``: fewer changes are shorter.
    ///
    /// - Throws: ``StoreError/notLeading`` where this store does not lead its shard.
    mutating func capture() throws(StoreError) -> CapturedBatch? {
        guard sequence > 0 else { return nil }
        var writer = try batchWriter()
        guard !writer.isEmpty || !storedBlobs.isEmpty else {
            unskipNumbers()
            return nil
        }
        guard !core.replication.refusesChanges.load(ordering: .relaxed) else { throw .notLeading }
        let epochs = newEpochs.take()
        if let epochs {
            try set(epochs)
            writer = try batchWriter()
        }
        let batch = writer.finish(
            sequence: sequence, asOf: now, counters, in: tables.meta, storing: storedBlobs)
        try putOutbox(batch, at: sequence)
        return CapturedBatch(
            sequence: sequence,
            byteCount: storedBlobs.reduce(batch.count) { $0 + $1.storedByteCount },
            firstBlobNumber: storedBlobs.min { $0.number < $1.number }?.number, epochs: epochs)
    }

    private borrowing func batchWriter() throws(StoreError) -> ReplicatedBatchWriter {
        guard !transaction.operations.isOverfull else { throw .full }
        var writer = ReplicatedBatchWriter()
        try writer.append(
            transaction.operations.bytes.extracting(
                droppingFirst: transaction.operations.prefixByteCount), of: tables)
        return writer
    }
}

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
