internal import Bytes
internal import LMDB
internal import Synchronization

// What replication needs of a store. All changes are made on the thread that writes.

extension BlobStore {
    /// How the store belongs to a shard; nil when it is not replicated. One load then, else a lock for some
    /// nanoseconds.
    package var replicationState: ReplicationState? {
        guard core.replication.isReplicated.load(ordering: .acquiring) else { return nil }
        return core.replication.state
    }

    /// The segment behind which a start would read the log: the last one that the file says is shipped or applied.
    package var savedSegment: UInt64 {
        core.replication.knowledge.withLock { $0.saved?.position.number ?? 0 }
    }

    /// The number of the last batch: of what is acknowledged here, or was applied here.
    package var lastSequence: UInt64 { core.replication.lastSequence.load(ordering: .acquiring) }

    /// The number of the last batch that is known to be in the bucket.
    package var shippedSequence: UInt64 {
        core.replication.shippedSequence.load(ordering: .acquiring)
    }

    /// Bytes of the batches that are not known to be in the bucket, with their blobs'. About: what is
    /// shipped is counted when it is noted.
    package var unshippedByteCount: Int {
        core.replication.byteCountEver.load(ordering: .relaxed)
            - core.replication.byteCountShipped.load(ordering: .relaxed)
    }

    /// Whether a batch of an epoch belongs to this store's history, or will: not one that was lost when another
    /// store took the lead.
    package func hasSequence(_ sequence: UInt64, of epoch: UInt64) -> Bool {
        core.replication.knowledge.withLock { $0.epochs.hasSequence(sequence, of: epoch) }
    }

    /// Whether what a cursor has seen is in this store's history, or will be. A lock in a store that is
    /// replicated; else one load.
    func hasRevision(of cursor: FeedCursor) -> Bool {
        guard core.replication.isReplicated.load(ordering: .relaxed) else { return true }
        return core.replication.knowledge.withLock { knowledge in
            knowledge.epochs.hasRevision(cursor.position)
                && (cursor.base == 0 || knowledge.epochs.hasRevision(cursor.base))
        }
    }

    /// Whether a run is this store's, and may have written to the bucket since the last fence that is known to be
    /// its own: also of a store that does not know yet whether it has begun a shard.
    package func isOwn(_ nonce: Nonce) -> Bool {
        core.replication.knowledge.withLock { $0.state?.isOwn(nonce) == true }
    }

    /// A blob's bytes as they are stored. Each chunk's checksum is computed.
    ///
    /// - Parameter blob: of a batch that waits to be shipped, or leased.
    /// - Throws: ``StoreError/corrupt(_:)`` when a chunk is missing or damaged.
    package func storedBytes(of blob: BlobReference) throws(StoreError) -> [UInt8] {
        try core.withSnapshot { (snapshot) throws(StoreError) in
            let chunks = ChunkReader(snapshot)
            var bytes: [UInt8] = []
            bytes.reserveCapacity(blob.storedByteCount)
            for index in 0..<blob.chunkCount {
                bytes.append(contentsOf: try chunks.checkedChunk(of: blob, at: index))
            }
            return bytes
        }
    }

    /// Stores a blob of several chunks ahead of the batch that refers to it. It is leased by the caller.
    ///
    /// - Parameter bytes: as stored, and checked.
    ///   What a failed attempt or a crash leaves of it is used by the next attempt, or freed like any blob that was
    ///   written ahead.
    package func stage(_ blob: BlobReference, _ bytes: [UInt8]) throws(StoreError) {
        precondition(bytes.count == blob.storedByteCount)
        let step = StoreLimits.stagedBatchByteCount / StoreLimits.chunkByteCountMax
        for start in stride(from: 0, to: blob.chunkCount, by: step) {
            let end = min(start + step, blob.chunkCount)
            let growth = core.environment.growth(ofChunks: end - start)
            try pipeline.change(growth: growth, isPublishing: true) {
                (transaction) throws(StoreError) in
                if start == 0 { try transaction.addStaged(blob) }
                for index in start..<end where try !transaction.hasChunk(of: blob, at: index) {
                    try transaction.transaction.putChunk(
                        of: blob, at: index, bytes, in: core.tables.chunks)
                }
            }
        }
    }

    /// Throws ``StoreError/cannotOpen(path:reason:)`` for a store of a shard that is opened as if it were of
    /// none.
    func refuseUnreplicatedUse() throws(StoreError) {
        guard let state = replicationState, !options.isReplicated else { return }
        throw .cannotOpen(
            path: directory,
            reason:
                "it belongs to a replicated shard (epoch \(state.epoch)), and changes made here would not be replicated; start with --replicate or --follow"
        )
    }

    /// Keeps a blob that is staged from being freed until the lease ends.
    package func lease(_ blob: BlobReference) -> Lease { Lease(blob.number, in: core.leases) }
}

extension ChangeTransaction {
    fileprivate borrowing func hasChunk(
        of blob: BlobReference, at index: Int
    ) throws(StoreError) -> Bool {
        let key = Keys.chunk(blob.number, index)
        guard let value = try get(key.bytes, in: tables.chunks) else { return false }
        return Chunk.isWhole(value, key: key.bytes, byteCount: blob.chunkByteCount(at: index))
    }
}
