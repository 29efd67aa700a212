internal import Bytes
internal import LMDB
internal import Synchronization

// What waits to be shipped, and what was: written down, and removed from the outbox.

extension BlobStore {
    /// Batches that wait to be shipped and are committed, in order. One is given however long it is.
    package func outbox(
        after sequence: UInt64, byteCountMax: Int
    ) throws(StoreError) -> [ReplicatedBatch] {
        // Before the snapshot: what is noted later may not be known to the guard of blobs yet.
        let last = lastSequence
        return try core.snapshot().outbox(after: sequence, upTo: last, byteCountMax: byteCountMax)
    }

    /// Long blobs that an earlier batch stored, and that this one uses again: it counts a reference to the blob and has
    /// a notification that names it, or holds it. A blob of which it only drops a reference is left out. In order.
    package func longBlobs(
        usedAgainBy batch: ReplicatedBatch, where isWanted: (UInt64) -> Bool
    ) throws(StoreError) -> [BlobReference] {
        let stored = Set(batch.blobs.map(\.number))
        var counted: [UInt64: BlobReference] = [:]
        var used: Set<UInt64> = []
        var reader = OperationReader(batch.operations)
        while let operation = reader.next() {
            guard operation.isPut else { continue }
            switch UInt8(operation.table) {
            case core.tables.blobs.number:
                let entry = try BlobEntry(operation.key, operation.value)
                counted[entry.number] = entry.blob
                if entry.heldUntil != nil { used.insert(entry.number) }
            case core.tables.notifications.number:
                let record = try RecordView(operation.value)
                for index in 0..<record.partCount {
                    used.insert(try record.part(at: index).blob().number)
                }
            default: break
            }
        }
        return used.sorted().compactMap { counted[$0] }.filter {
            !$0.isShippedWithBatch && !stored.contains($0.number) && isWanted($0.number)
        }
    }

    /// Notes what is in the bucket, up to a batch and a name of the log. ``saveShipped()`` writes it down.
    ///
    /// - Parameter epoch: of what has that name; nil: the one in which this store leads.
    package func noteShipped(
        _ sequence: UInt64, byteCount: Int, at position: LogPosition, of epoch: UInt64? = nil
    ) {
        core.replication.byteCountShipped.add(byteCount, ordering: .relaxed)
        core.replication.noteShipped(sequence, at: position, of: epoch)
    }

    /// Writes how far shipping or applying is, where the file does not say so, and removes what the outbox has of
    /// shipped batches.
    package func saveShipped() throws(StoreError) {
        let replication = core.replication
        let (now, saved) = replication.shard.withLock { ($0.state, $0.saved) }
        guard let now, let saved else { return }
        // Empty segments move the position only, and a start can read some of them again.
        var hasMore =
            now.sequence != saved.sequence
            || now.position.number >= saved.position.number + StoreLimits.unsavedPositionCountMax
        if !hasMore {
            hasMore =
                try !core.snapshot().outboxKeys(upTo: now.lastOutboxGarbage, countMax: 1).isEmpty
        }
        while hasMore {
            hasMore = try inOutboxSteps { (transaction, countMax) throws(StoreError) in
                try transaction.saveShipped(replication, removing: countMax)
            }
        }
    }

    func clearOutbox() throws(StoreError) {
        while try inOutboxSteps({ (transaction, countMax) throws(StoreError) in
            (nil, try transaction.removeOutbox(upTo: .max, countMax: countMax))
        }) {}
    }

    /// Runs `body` in a transaction, with fewer removals where there is no room for more. It returns the state that
    /// it wrote and how many it has removed. Returns whether there may be more.
    private func inOutboxSteps(
        _ body: (
            inout ChangeTransaction, Int
        ) throws(StoreError) -> (state: ReplicationState?, removedCount: Int)
    ) throws(StoreError) -> Bool {
        let (state, isFull) = try pipeline.changeInSteps(
            of: StoreLimits.outboxRemovedCountMax, isPublishing: false
        ) { (transaction, countMax) throws(StoreError) in
            let (state, removedCount) = try body(&transaction, countMax)
            return (state, removedCount == countMax)
        }
        if let state { core.replication.noteSaved(state, core.leases) }
        return isFull
    }

    /// The bytes of a batch that waits to be shipped, acknowledged or committed; nil: there is none.
    package func outboxBatch(_ sequence: UInt64) throws(StoreError) -> [UInt8]? {
        try makeSnapshot().outboxBatch(sequence)
    }
}

extension BlobStore {
    /// Forgets blobs that were retired up to a batch, the last one of the oldest base that is kept. A change like any
    /// other: a follower makes it when its leader has. Returns how many; fewer than `countMax`: those were all.
    package func pruneRetired(
        upTo sequence: UInt64, countMax: Int = StoreLimits.transactionPutCountMax,
        asOf now: Timestamp
    ) throws(StoreError) -> Int {
        try pipeline.change(
            growth: core.environment.bookkeepingGrowth, asOf: now, isPublishing: false
        ) { (transaction) throws(StoreError) in
            var keys: [[UInt8]] = []
            try transaction.walkIndex(IndexKeys.retiredPrefix) { (cursor) throws(StoreError) in
                guard keys.count < countMax,
                    try IndexKeys.retired(cursor.key).sequence <= sequence
                else { return false }
                keys.append(cursor.key.array())
                return true
            }
            for key in keys { try transaction.removeIndex(key) }
            return keys.count
        }
    }
}
