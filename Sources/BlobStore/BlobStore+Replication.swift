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

    /// Adds a run to those of this store, on disk: call it before an epoch is created with its nonce. Whatever
    /// becomes of the run, the epoch is then known as this store's own. One transaction at the most.
    ///
    /// - Parameters:
    ///   - nonce: of a run that was not there before.
    ///   - now: the present.
    /// - Returns: the nonce for the run to use. It is that of the newest run where
    ///   ``ReplicationState/nonceCountMax`` are remembered.
    package func prepareToLead(
        nonce: Nonce, asOf now: Timestamp
    ) throws(StoreError) -> Nonce {
        try pipeline.prepareToLead(nonce: nonce, asOf: now)
    }

    /// Makes this store the leader of an epoch, once its fence is in the log. See `docs/REPLICATION.md`. One
    /// transaction, and as many before it as it takes to remove what a follower is not to ship.
    ///
    /// - Parameters:
    ///   - epoch: one that this store, and no other, has created in the bucket, above all that it has seen.
    ///   - nonce: of the fence.
    ///   - position: the last name of the log before the one that is written next.
    ///   - isFirst: whether nobody led the shard before.
    ///   - now: the present.
    package func lead(
        epoch: UInt64, nonce: Nonce, behind position: LogPosition, isFirst: Bool,
        asOf now: Timestamp
    ) throws(StoreError) {
        try pipeline.lead(
            epoch: epoch, nonce: nonce, behind: position, isFirst: isFirst, asOf: now)
    }

    /// Says that a leader takes changes before it is known whether it still leads. The next batch begins behind a
    /// random gap in the revisions: another copy of this store that does the same gives others, so that no cursor
    /// is good for both. Nothing is written for it alone. Call it once after the opening, while no change is made.
    package func leadUnconfirmed() {
        core.replication.isUnconfirmed.store(true, ordering: .relaxed)
    }

    /// Takes the lead from this store: it follows where all its changes are shipped, and is deposed where
    /// they are not.
    ///
    /// - Throws: ``StoreError/corrupt(_:)`` when it is to follow, and something is not shipped.
    package func stepDown(to role: ReplicationState.Role) throws(StoreError) {
        try pipeline.stepDown(to: role)
    }

    /// Batches that wait to be shipped and are committed, in order; none where there are none.
    ///
    /// - Parameters:
    ///   - sequence: the one before the first.
    ///   - byteCountMax: of them and of the blobs that they stored; one batch is given however long it is.
    package func outbox(
        after sequence: UInt64, byteCountMax: Int
    ) throws(StoreError) -> [ReplicatedBatch] {
        // Before the snapshot: what is noted later may not be known to the guard of blobs yet.
        let last = lastSequence
        return try core.withSnapshot { (snapshot) throws(StoreError) in
            try snapshot.outbox(after: sequence, upTo: last, byteCountMax: byteCountMax)
        }
    }

    /// One batch as it waits to be shipped, acknowledged or committed: its bytes, which are the ones that are
    /// shipped. Waits while a change is under way.
    ///
    /// - Returns: nil when it is not there: it was never given, or is shipped and removed.
    package func outboxBatch(_ sequence: UInt64) throws(StoreError) -> [UInt8]? {
        try pipeline.outboxBatch(sequence)
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

    /// Notes what is in the bucket. Nothing is written; ``saveShipped()`` does.
    ///
    /// - Parameters:
    ///   - sequence: the last batch.
    ///   - byteCount: of what was shipped since the last call, with blobs.
    ///   - position: the last name of the log.
    package func noteShipped(_ sequence: UInt64, byteCount: Int, at position: LogPosition) {
        core.replication.byteCountShipped.add(byteCount, ordering: .relaxed)
        core.replication.noteShipped(sequence, at: position)
    }

    /// Writes how far shipping or applying is, where the file does not say so, and removes what the outbox has
    /// of shipped batches. One snapshot where there is nothing to do; else commits what is in the log.
    package func saveShipped() throws(StoreError) { try pipeline.saveShipped() }

    /// Does again what a leader shipped, in a store that follows.
    ///
    /// - Parameters:
    ///   - batches: of one segment, in order, each with the stored bytes of the blobs that are shipped with
    ///     it. Those that are done already are left out.
    ///   - longBlobs: other blobs, by their numbers. Those that are not among them are staged.
    ///   - epoch: the segment's.
    ///   - position: the segment.
    /// - Throws: ``StoreError/corrupt(_:)`` when they do not continue what is here, with nothing of the
    ///   batch changed; ``StoreError/full``; ``StoreError/outcomeUnknown(_:)``.
    package func apply(
        _ batches: [(batch: ReplicatedBatch, contents: [ArraySlice<UInt8>])],
        longBlobs: [UInt64: LongBlob] = [:], of epoch: UInt64, at position: LogPosition
    ) throws(StoreError) {
        try pipeline.apply(batches, longBlobs: longBlobs, of: epoch, at: position)
    }

    /// Stores a blob of several chunks ahead of the batch that refers to it. It is leased by the caller.
    ///
    /// - Parameter bytes: as stored, and checked.
    package func stage(_ blob: BlobReference, _ bytes: [UInt8]) throws(StoreError) {
        try pipeline.stage(blob, bytes)
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
