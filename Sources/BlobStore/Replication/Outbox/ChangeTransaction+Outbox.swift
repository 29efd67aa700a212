internal import Bytes
internal import LMDB
internal import Synchronization

// What a batch does is noted for the outbox, until it is shipped.

extension ChangeTransaction {
    /// Begins the revisions and assigned ids of a leader that does not know yet whether it still leads after a random gap:
    /// another copy of its store gives others, so that no cursor and no link is good for both.
    mutating func skipNumbers(of replication: Replication) throws(StoreError) {
        let (state, epochs) = replication.shard.withLock { ($0.state, $0.epochs) }
        guard let state else { return }
        let before = counters.revision
        try counters.skip(.random(in: 1...StoreLimits.unconfirmedGapMax))
        // Not that of a later fence of this store's own, after which it has not led, and which a start may not know of yet.
        newEpochs = epochs.adding(
            EpochList.Epoch(
                epoch: epochs.epochs.last?.epoch ?? state.epoch, revisionBefore: before,
                revision: counters.revision,
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
        if let epochs, try meta(EpochList.self) != epochs {
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

extension ChangeTransaction {
    /// Writes the state as it is now, and removes some of what is shipped from the outbox. Returns the state that was
    /// written, which counts once it is committed; nil: the file has it. And how many batches were removed.
    mutating func saveShipped(
        _ replication: Replication, removing countMax: Int
    ) throws(StoreError) -> (state: ReplicationState?, removedCount: Int) {
        let (state, saved) = replication.shard.withLock { ($0.state, $0.saved) }
        guard let state else { return (nil, 0) }
        let isStale = state != saved
        if isStale { try set(state) }
        let count = try removeOutbox(upTo: state.lastOutboxGarbage, countMax: countMax)
        return (isStale ? state : nil, count)
    }

    /// Removes the first batches of the outbox, up to a batch. Returns how many.
    mutating func removeOutbox(
        upTo sequence: UInt64, countMax: Int
    ) throws(StoreError) -> Int {
        let keys = try outboxKeys(upTo: sequence, countMax: countMax)
        for key in keys { try removeIndex(key) }
        return keys.count
    }
}

extension ReplicationState {
    /// The last batch that the outbox has in vain: what a leader has shipped, and whatever a follower has; 0:
    /// none.
    var lastOutboxGarbage: UInt64 {
        switch role {
        case .leader: sequence
        case .follower: .max
        case .deposed: 0
        }
    }
}
