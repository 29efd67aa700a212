internal import LMDB
internal import Synchronization

// What a store is in its shard: found out at the opening, and changed by taking and losing the lead.

extension BlobStore {
    /// Finds out at the opening whether the store is replicated, and what waits to be shipped.
    func loadReplication() throws(StoreError) {
        let replication = core.replication
        let knowledge = try core.withSnapshot { (snapshot) throws(StoreError) in
            try snapshot.replicationKnowledge()
        }
        replication.knowledge.withLock { $0 = knowledge }
        guard let state = knowledge.state, state.epoch > 0 else { return }
        replication.isReplicated.store(true, ordering: .releasing)
        replication.shippedSequence.store(state.sequence, ordering: .relaxed)
        replication.lastSequence.store(state.sequence, ordering: .relaxed)
        replication.capturesChanges.store(state.role == .leader, ordering: .relaxed)
        guard state.role != .follower else { return }
        try core.withSnapshot { (snapshot) throws(StoreError) in
            var next: UInt64? = state.sequence
            while let after = next {
                let batches = try snapshot.outbox(after: after, upTo: .max, byteCountMax: 1 << 20)
                for batch in batches { replication.note(CapturedBatch(batch), core.leases) }
                next = batches.last?.sequence
            }
        }
    }

    /// Adds a run to those of this store, on disk: call it before an epoch is created with its nonce. Whatever
    /// becomes of the run, the epoch is then known as this store's own. One transaction at the most.
    ///
    /// - Parameters:
    ///   - nonce: of a run that was not there before.
    ///   - now: the present.
    /// - Returns: the nonce for the run to use. It is that of the newest run where
    ///   ``ReplicationState/nonceCountMax`` are remembered.
    package func prepareToLead(nonce: Nonce, asOf now: Timestamp) throws(StoreError) -> Nonce {
        let replication = core.replication
        let old = replication.knowledge.withLock { $0.state }
        var state =
            old
            ?? ReplicationState(
                role: .leader, epoch: 0, nonce: nonce, position: .start, sequence: 0)
        state.add(nonce)
        if state != old { try save(state, asOf: now) }
        return state.nonce
    }

    /// Makes this store the leader of an epoch, once its fence is in the log; from here on the run of the fence is
    /// the only one of this store. See `docs/REPLICATION.md`. One transaction, and as many before it as it takes to
    /// remove what a follower is not to ship.
    ///
    /// A new epoch's revisions and blob numbers begin behind a gap: what the leaders before gave and did not
    /// ship is so never given again. That it begins is the first batch of the epoch. A leader of an earlier
    /// epoch keeps its outbox, and ships it in the new one. A follower's outbox is of a history that the shard
    /// does not have, and is removed first.
    ///
    /// - Parameters:
    ///   - epoch: one that this store, and no other, has created in the bucket, above all that it has seen.
    ///   - nonce: of the fence.
    ///   - position: the last name of the log before the one that this store writes next.
    ///   - isFirst: whether nobody led the shard before.
    ///   - now: the present.
    package func lead(
        epoch: UInt64, nonce: Nonce, behind position: LogPosition, isFirst: Bool,
        asOf now: Timestamp
    ) throws(StoreError) {
        let replication = core.replication
        let (old, epochs) = replication.knowledge.withLock { ($0.state, $0.epochs) }
        guard old?.role != .deposed, epoch > old?.epoch ?? 0 else {
            throw .corrupt("epoch \(epoch) cannot follow epoch \(old?.epoch ?? 0) in this store")
        }
        if let old, old.role != .leader { try clearOutbox() }
        let state = ReplicationState(
            role: .leader, epoch: epoch, nonce: nonce, position: position,
            sequence: old?.sequence ?? 0)
        let list = try pipeline.whileWriting { () throws(StoreError) in
            // So the beginning of the epoch is captured.
            let capturedBefore = replication.capturesChanges.exchange(true, ordering: .relaxed)
            do throws(StoreError) {
                return try pipeline.inTransaction(
                    growth: core.environment.bookkeepingGrowth, asOf: now,
                    isPublishing: true
                ) { (transaction) throws(StoreError) in
                    try transaction.set(state)
                    try transaction.requireFormat(FormatRecord.replicatedVersion)
                    return try transaction.begin(epoch, after: epochs, isFirst: isFirst)
                }
            } catch {
                replication.capturesChanges.store(capturedBefore, ordering: .relaxed)
                throw error
            }
        }
        replication.noteSaved(state, core.leases, epochs: list)
        replication.isUnconfirmed.store(false, ordering: .relaxed)
        replication.isReplicated.store(true, ordering: .releasing)
        try loadCategoryEdits()
    }

    /// Says that a leader takes changes before it is known whether it still leads. The next batch begins behind a
    /// random gap in the revisions: another copy of this store that does the same gives others, so that no cursor
    /// is good for both. Nothing is written for it alone. Call it once after the opening, while no change is made.
    package func leadUnconfirmed() {
        core.replication.isUnconfirmed.store(true, ordering: .relaxed)
    }

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
    /// Begins an epoch. Returns all epochs.
    fileprivate mutating func begin(
        _ epoch: UInt64, after epochs: EpochList, isFirst: Bool
    ) throws(StoreError) -> EpochList {
        // Its own gap does.
        unskipRevisions()
        let before = counters.revision
        if !isFirst {
            // One gap for each epoch between: who took one of those may have given numbers behind the same
            // batch, and have left nothing in the log.
            let gap = StoreLimits.failoverGap &* (epoch &- (epochs.epochs.last?.epoch ?? 0))
            counters.revision += gap
            counters.nextBlobNumber += gap
        }
        let list = epochs.adding(
            EpochList.Epoch(
                epoch: epoch, revisionBefore: before, revision: counters.revision,
                sequence: sequence - 1))
        try set(list)
        return list
    }
}
