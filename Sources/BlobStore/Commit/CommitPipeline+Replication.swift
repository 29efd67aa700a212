internal import Bytes
internal import LMDB
internal import Synchronization

// How a store belongs to a shard: as its leader, whose changes are noted and shipped, or as a follower,
// which does again what a leader shipped.

extension CommitPipeline {
    /// Finds out at the opening whether the store is replicated, and what waits to be shipped.
    func loadReplication() throws(StoreError) {
        let replication = core.replication
        let knowledge = try core.withSnapshot { (snapshot) throws(StoreError) in
            try snapshot.replicationKnowledge()
        }
        guard let state = knowledge.state else { return }
        replication.knowledge.withLock { $0 = knowledge }
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

    /// Makes this store the leader of an epoch, or goes on as the leader of one with another nonce.
    ///
    /// A new epoch's revisions and blob numbers begin behind a gap: what the leaders before gave and did not
    /// ship is so never given again. That it begins is the first batch of the epoch.
    ///
    /// - Parameters:
    ///   - position: the last name of the log before the one that this store writes next.
    ///   - isFirst: whether nobody led before.
    func lead(
        epoch: UInt64, nonce: Nonce, behind position: LogPosition, isFirst: Bool,
        asOf now: Timestamp
    ) throws(StoreError) {
        let replication = core.replication
        let (old, epochs) = replication.knowledge.withLock { ($0.state, $0.epochs) }
        let isNewEpoch = old?.epoch != epoch || old?.role != .leader
        var state = ReplicationState(
            role: .leader, epoch: epoch, nonce: nonce, position: position,
            sequence: old?.sequence ?? 0)
        if !isNewEpoch, let old {
            state.position = old.position
        } else {
            // So it is captured.
            replication.capturesChanges.store(true, ordering: .relaxed)
        }
        do throws(StoreError) {
            let list = try whileWriting { () throws(StoreError) in
                try inTransaction(
                    growth: Change.bookkeepingByteCount * core.environment.pageScale, asOf: now,
                    isPublishing: true
                ) { (transaction) throws(StoreError) in
                    try transaction.setMeta(ReplicationState.name, to: state.bytes)
                    guard isNewEpoch else { return epochs }
                    try transaction.requireFormat(FormatRecord.replicatedVersion)
                    return try transaction.begin(epoch, after: epochs, isFirst: isFirst)
                }
            }
            replication.knowledge.withLock { knowledge in
                knowledge.state = state
                knowledge.epochs = list
            }
            replication.isReplicated.store(true, ordering: .releasing)
        } catch {
            replication.capturesChanges.store(old?.role == .leader, ordering: .relaxed)
            throw error
        }
    }

    /// Makes a leader whose changes are all shipped a follower, or notes that a store is deposed.
    ///
    /// - Parameter role: not the leader's.
    func stepDown(to role: ReplicationState.Role) throws(StoreError) {
        let replication = core.replication
        guard var state = replication.state, state.role != role else { return }
        state.role = role
        try whileWriting { () throws(StoreError) in
            replication.capturesChanges.store(false, ordering: .relaxed)
            try inTransaction(
                growth: 0, asOf: Timestamp(milliseconds: 0), isPublishing: false
            ) { (transaction) throws(StoreError) in
                if role == .follower { try transaction.removeAllShipped(replication) }
                try transaction.setMeta(ReplicationState.name, to: state.bytes)
            }
        }
        replication.knowledge.withLock { $0.state = state }
    }

    /// Does again what a leader shipped, in as many transactions as it takes.
    ///
    /// - Parameters:
    ///   - batches: each with the stored bytes of the blobs that are shipped with it. Those that are done
    ///     already are left out.
    ///   - longBlobs: blobs that are not shipped with their batch and not staged.
    ///   - position: the segment that they are in.
    func apply(
        _ batches: [(batch: ReplicatedBatch, contents: [ArraySlice<UInt8>])],
        longBlobs: [UInt64: LongBlob], of epoch: UInt64, at position: LogPosition
    ) throws(StoreError) {
        let replication = core.replication
        guard var state = replication.state, state.role == .follower else {
            throw .corrupt("only a follower applies what was shipped")
        }
        var rest = batches[...].drop { $0.batch.sequence <= state.sequence }
        while !rest.isEmpty {
            var (count, byteCount) = (0, 0)
            while count < rest.count,
                count == 0 || byteCount < StoreLimits.replicatedBatchByteCountMax / 8
            {
                let item = rest[rest.startIndex + count]
                byteCount += item.contents.reduce(item.batch.bytes.count) { $0 + $1.count }
                for blob in item.batch.blobs { byteCount += longBlobs[blob.number]?.byteCount ?? 0 }
                count += 1
            }
            let part = rest.prefix(count)
            rest = rest.dropFirst(count)
            guard part.first?.batch.sequence == state.sequence + 1, let last = part.last?.batch
            else {
                throw .corrupt(
                    "the batch \(state.sequence + 1) is missing before \(part.first?.batch.sequence ?? 0)"
                )
            }
            state.sequence = last.sequence
            state.epoch = epoch
            if rest.isEmpty { state.position = position }
            try apply(part, longBlobs, state, byteCount: byteCount)
        }
        guard state.position != position else { return }
        // A fence, or a heartbeat: nothing needs to be written for it.
        state.position = position
        state.epoch = epoch
        replication.knowledge.withLock { $0.state = state }
    }

    private func apply(
        _ part: ArraySlice<(batch: ReplicatedBatch, contents: [ArraySlice<UInt8>])>,
        _ longBlobs: [UInt64: LongBlob], _ state: ReplicationState, byteCount: Int
    ) throws(StoreError) {
        let growth =
            2 * byteCount
            + part.count * Change.bookkeepingByteCount * core.environment.pageScale
        let epochs = try whileWriting { () throws(StoreError) in
            try inTransaction(
                growth: growth, asOf: Timestamp(milliseconds: 0), isPublishing: true
            ) { (transaction) throws(StoreError) in
                for item in part {
                    try transaction.apply(item.batch, item.contents, longBlobs: longBlobs)
                }
                try transaction.setMeta(ReplicationState.name, to: state.bytes)
                return try transaction.epochs()
            }
        }
        let replication = core.replication
        replication.knowledge.withLock { knowledge in
            knowledge.state = state
            knowledge.epochs = epochs
        }
        replication.lastSequence.store(state.sequence, ordering: .releasing)
        replication.shippedSequence.store(state.sequence, ordering: .releasing)
    }

    /// Writes how far shipping is, and removes what was shipped from what waits. Nothing happens where the
    /// file says so already.
    func saveShipped() throws(StoreError) {
        let (state, removed) = core.replication.knowledge.withLock {
            ($0.state, $0.removedSequence)
        }
        guard let state, state.role == .leader, state.sequence > removed else { return }
        try whileWriting { () throws(StoreError) in
            let next = try inTransaction(
                growth: 0, asOf: Timestamp(milliseconds: 0), isPublishing: false
            ) { (transaction) throws(StoreError) in
                try transaction.removeShipped(core.replication)
                return transaction.removedShipped
            }
            if next > 0 { core.replication.noteRemoved(next) }
        }
    }
}

extension CapturedBatch {
    /// A batch that waits.
    init(_ batch: ReplicatedBatch) {
        sequence = batch.sequence
        byteCount = batch.blobs.reduce(batch.bytes.count) { $0 + $1.storedByteCount }
        firstBlobNumber = batch.blobs.min { $0.number < $1.number }?.number
    }
}

extension ChangeTransaction {
    /// Begins an epoch.
    ///
    /// - Returns: all epochs.
    fileprivate mutating func begin(
        _ epoch: UInt64, after epochs: EpochList, isFirst: Bool
    ) throws(StoreError) -> EpochList {
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
        try setMeta(EpochList.name, to: list.bytes)
        return list
    }

    /// The epochs as they are now.
    fileprivate borrowing func epochs() throws(StoreError) -> EpochList {
        let name = Array(EpochList.name.utf8)
        guard let value = try transaction.get(name.span.bytes, in: tables.meta) else {
            return EpochList()
        }
        return try EpochList(value)
    }
}
