internal import Bytes
internal import LMDB
internal import Synchronization

// A follower does again what its leader shipped.

extension BlobStore {
    /// Does again what a leader shipped.
    ///
    /// - Parameters:
    ///   - batches: of one segment, in order, each with the stored bytes of the blobs that are shipped with it. Those that
    ///     are done already are left out.
    ///   - longBlobs: other blobs, by their numbers. Those that are not among them are staged.
    /// - Throws: ``StoreError/corrupt(_:)`` when they do not continue what is here, with nothing of the batch changed.
    package func apply(
        _ batches: [(batch: ReplicatedBatch, contents: [ArraySlice<UInt8>])],
        longBlobs: [UInt64: LongBlob] = [:], of epoch: UInt64, at position: LogPosition
    ) throws(StoreError) {
        let replication = core.replication
        guard var state = replication.state, state.role == .follower else {
            throw .corrupt("only a follower applies shipped batches")
        }
        var rest = batches[...].drop { $0.batch.sequence <= state.sequence }
        while !rest.isEmpty {
            var (count, byteCount) = (0, 0)
            while count < rest.count,
                count == 0 || byteCount < StoreLimits.replicatedBatchByteCountMax / 8
            {
                byteCount += Self.byteCount(of: rest[rest.startIndex + count], longBlobs)
                count += 1
            }
            let applied = try pipeline.whileWriting { () throws(StoreError) in
                try pipeline.inShrinkingSteps(of: count) { (count) throws(StoreError) in
                    let part = rest.prefix(count)
                    var next = state
                    next.sequence += UInt64(count)
                    next.epoch = epoch
                    if count == rest.count { next.position = position }
                    try apply(part, longBlobs, next)
                    return (count, next)
                }
            }
            rest = rest.dropFirst(applied.0)
            state = applied.1
        }
        guard state.position != position else { return }
        // A fence, or an empty segment: nothing needs to be written for it.
        state.position = position
        state.epoch = epoch
        replication.shard.withLock { $0.state = state }
    }

    /// Applies some batches in one transaction. `state`: after them.
    private func apply(
        _ part: ArraySlice<(batch: ReplicatedBatch, contents: [ArraySlice<UInt8>])>,
        _ longBlobs: [UInt64: LongBlob], _ state: ReplicationState
    ) throws(StoreError) {
        var sequence = state.sequence - UInt64(part.count)
        var growth = part.count * core.environment.bookkeepingGrowth
        for item in part {
            sequence += 1
            guard item.batch.sequence == sequence else {
                throw .corrupt("the batch \(sequence) is missing before \(item.batch.sequence)")
            }
            growth += 2 * Self.byteCount(of: item, longBlobs)
        }
        let epochs = try pipeline.inTransaction(growth: growth, isPublishing: true) {
            (transaction) throws(StoreError) in
            transaction.beginShippedBatch()
            for item in part {
                try transaction.apply(item.batch, item.contents, longBlobs: longBlobs)
            }
            try transaction.set(state)
            return try transaction.meta() ?? EpochList()
        }
        let replication = core.replication
        replication.noteSaved(state, core.leases, epochs: epochs)
        replication.lastSequence.store(state.sequence, ordering: .releasing)
        replication.shippedSequence.store(state.sequence, ordering: .releasing)
    }

    private static func byteCount(
        of item: (batch: ReplicatedBatch, contents: [ArraySlice<UInt8>]),
        _ longBlobs: [UInt64: LongBlob]
    ) -> Int {
        item.contents.reduce(item.batch.bytes.count) { $0 + $1.count }
            + item.batch.blobs.reduce(0) { $0 + (longBlobs[$1.number]?.byteCount ?? 0) }
    }
}
