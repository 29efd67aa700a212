internal import Bytes
internal import LMDB
internal import Synchronization

// What replication needs of a store. All changes are made on the thread that writes.

extension BlobStore {
    /// How the store belongs to a shard; nil when it is not replicated. One load then.
    package var replicationState: ReplicationState? {
        guard core.replication.isReplicated.load(ordering: .acquiring) else { return nil }
        return core.replication.state
    }

    /// The last segment that the file says is shipped or applied: a start reads the log after it.
    package var savedSegment: UInt64 {
        core.replication.shard.withLock { $0.saved?.position.number ?? 0 }
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

    /// The epoch of the last batch; nil before the first.
    package var lastEpoch: UInt64? {
        core.replication.shard.withLock { $0.epochs.epochs.last?.epoch }
    }

    /// Whether a batch of an epoch belongs to this store's history, or will.
    package func hasSequence(_ sequence: UInt64, of epoch: UInt64) -> Bool {
        core.replication.shard.withLock { $0.epochs.hasSequence(sequence, of: epoch) }
    }

    /// Whether what a cursor has seen is in this store's history, or will be.
    func hasRevision(of cursor: FeedCursor) -> Bool {
        guard core.replication.isReplicated.load(ordering: .relaxed) else { return true }
        return core.replication.shard.withLock { shard in
            shard.epochs.hasRevision(cursor.position)
                && (cursor.base == 0 || shard.epochs.hasRevision(cursor.base))
        }
    }

    /// Whether a run is this store's, and may have written since the last fence that is known to be its own.
    package func isOwn(_ nonce: Nonce) -> Bool {
        core.replication.shard.withLock { $0.state?.isOwn(nonce) == true }
    }

    /// The stored bytes of a blob that is leased, or of a batch that waits to be shipped. Checksums are compared.
    package func storedBytes(of blob: BlobReference) throws(StoreError) -> [UInt8] {
        let snapshot = try core.snapshot()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(blob.storedByteCount)
        for index in 0..<blob.chunkCount {
            bytes.append(contentsOf: try ChunkReader(snapshot).checkedChunk(of: blob, at: index))
        }
        return bytes
    }

    /// Stores a blob of several chunks ahead of the batch that refers to it. The caller leases it. What a failed
    /// attempt or a crash leaves of it is used by the next attempt, or freed. `bytes`: as stored, and checked.
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

// What a store is in its shard: found out at the opening, and changed by taking and losing the lead.

extension BlobStore {
    /// Finds out at the opening whether the store is replicated, and what waits to be shipped.
    func loadReplication() throws(StoreError) {
        let replication = core.replication
        let snapshot = try core.snapshot()
        let (found, epochs) = (
            try snapshot.meta(ReplicationState.self), try snapshot.meta() ?? EpochList()
        )
        replication.shard.withLock {
            $0 = Replication.Shard(state: found, saved: found, epochs: epochs)
        }
        guard let state = found, state.epoch > 0 else { return }
        replication.isReplicated.store(true, ordering: .releasing)
        replication.shippedSequence.store(state.sequence, ordering: .relaxed)
        replication.lastSequence.store(state.sequence, ordering: .relaxed)
        replication.capturesChanges.store(state.role == .leader, ordering: .relaxed)
        replication.refusesChanges.store(state.role != .leader, ordering: .relaxed)
        // Another copy of this store, or a later state of it that was rolled back, may have led since.
        replication.isUnconfirmed.store(state.role == .leader, ordering: .relaxed)
        guard state.role != .follower else { return }
        try snapshot.forEachBatch(after: state.sequence) { (batch) throws(StoreError) in
            replication.note(CapturedBatch(batch), core.leases)
            return true
        }
    }

    /// Adds a run to those of this store, on disk: before a fence is created with its nonce. Even if the run is
    /// killed, the fence is then known as this store's own. Returns the nonce for the run to use: that of the
    /// newest run where ``ReplicationState/nonceCountMax`` are remembered.
    package func prepareToLead(nonce: Nonce, asOf now: Timestamp) throws(StoreError) -> Nonce {
        let replication = core.replication
        let old = replication.shard.withLock { $0.state }
        var state =
            old
            ?? ReplicationState(
                role: .leader, epoch: 0, nonce: nonce, position: .start, sequence: 0)
        state.add(nonce)
        if state != old { try save(state, asOf: now) }
        return state.nonce
    }

    /// Makes this store the leader of an epoch, once its fence is in the log; from here on the run of the fence is
    /// the only one of this store. See `docs/REPLICATION.md`.
    ///
    /// A new epoch's revisions, assigned ids and blob numbers begin after a gap: what earlier leaders gave and did
    /// not ship is never given again. That it begins is its first batch. A leader of an earlier epoch keeps its
    /// outbox, and ships it in the new one. A follower's outbox is of a history that the shard does not have, and
    /// is removed first.
    ///
    /// - Parameters:
    ///   - epoch: that of a fence of this store.
    ///   - position: the last name of the log before the one that this store writes next.
    ///   - isFirst: whether nobody led the shard before.
    package func lead(
        epoch: UInt64, nonce: Nonce, after position: LogPosition, isFirst: Bool,
        asOf now: Timestamp
    ) throws(StoreError) {
        let replication = core.replication
        let (old, epochs) = replication.shard.withLock { ($0.state, $0.epochs) }
        guard old?.role != .deposed, epoch > old?.epoch ?? 0 else {
            throw .corrupt("epoch \(epoch) cannot follow epoch \(old?.epoch ?? 0) in this store")
        }
        if let old, old.role != .leader { try clearOutbox() }
        let state = ReplicationState(
            role: .leader, epoch: epoch, nonce: nonce, position: position,
            sequence: old?.sequence ?? 0)
        try pipeline.whileWriting { () throws(StoreError) in
            // So the beginning of the epoch is captured.
            let capturedBefore = replication.capturesChanges.exchange(true, ordering: .relaxed)
            let refusedBefore = replication.refusesChanges.exchange(false, ordering: .relaxed)
            do throws(StoreError) {
                try pipeline.inTransaction(
                    growth: core.environment.bookkeepingGrowth, asOf: now,
                    isPublishing: true
                ) { (transaction) throws(StoreError) in
                    try transaction.set(state)
                    try transaction.requireFormat(FormatRecord.replicatedVersion)
                    try transaction.begin(epoch, after: epochs, isFirst: isFirst)
                }
            } catch {
                replication.capturesChanges.store(capturedBefore, ordering: .relaxed)
                replication.refusesChanges.store(refusedBefore, ordering: .relaxed)
                throw error
            }
        }
        replication.noteSaved(state, core.leases)
        replication.isReplicated.store(true, ordering: .releasing)
        try loadCategoryEdits()
    }

    /// Whether changes that would be shipped are refused as ``StoreError/notLeading``, whoever makes them. A leader says
    /// so before it ends its epoch, or saves what it has not shipped. It holds for each batch that begins after it was set.
    package var refusesChanges: Bool {
        get { core.replication.refusesChanges.load(ordering: .relaxed) }
        set { core.replication.refusesChanges.store(newValue, ordering: .relaxed) }
    }

    /// Ends the lead, or what is left of it. From here on only what another leader shipped is applied.
    package func stepDown(to role: ReplicationState.Role) throws(StoreError) {
        let replication = core.replication
        guard var state = replication.state, state.role != role else { return }
        let last = replication.lastSequence.load(ordering: .acquiring)
        guard role != .follower || last == state.sequence else {
            throw .corrupt("batch \(last) is not shipped: this store has more than its shard")
        }
        state.role = role
        try save(state, asOf: Timestamp(milliseconds: 0))
        replication.capturesChanges.store(false, ordering: .relaxed)
        replication.refusesChanges.store(true, ordering: .relaxed)
    }

    /// Commits a state that differs from the one before in nothing that is shipped.
    private func save(_ state: ReplicationState, asOf now: Timestamp) throws(StoreError) {
        try pipeline.change(asOf: now, isPublishing: false) { (transaction) throws(StoreError) in
            try transaction.set(state)
        }
        core.replication.noteSaved(state, core.leases)
    }
}

extension CapturedBatch {
    fileprivate init(_ batch: ReplicatedBatch) {
        sequence = batch.sequence
        byteCount = batch.byteCountWithBlobs
        firstBlobNumber = batch.blobs.min { $0.number < $1.number }?.number
    }
}

extension ChangeTransaction {
    /// Begins an epoch. It is known to others before the batch is: who is told of that would be told the epoch before, in
    /// which it is not.
    fileprivate mutating func begin(
        _ epoch: UInt64, after epochs: EpochList, isFirst: Bool
    ) throws(StoreError) {
        // Its own gap does.
        unskipNumbers()
        let before = counters.revision
        if !isFirst {
            // One gap for each epoch between: who took one of those may have given numbers after the same
            // batch, and have left nothing in the log.
            let (product, isTooLong) = StoreLimits.failoverGap.multipliedReportingOverflow(
                by: epoch &- (epochs.epochs.last?.epoch ?? 0))
            let gap = isTooLong ? .max : product
            try counters.skip(gap)
            try counters.skipBlobs(gap)
        }
        let list = epochs.adding(
            EpochList.Epoch(
                epoch: epoch, revisionBefore: before, revision: counters.revision,
                sequence: sequence - 1))
        try set(list)
        newEpochs = list
    }
}
