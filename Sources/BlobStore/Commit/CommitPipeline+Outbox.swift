internal import Bytes
internal import LMDB
internal import Synchronization

// What was shipped: written down, and removed from the outbox.

extension CommitPipeline {
    /// See ``BlobStore/saveShipped()``.
    func saveShipped() throws(StoreError) {
        let replication = core.replication
        let (now, saved) = replication.knowledge.withLock { ($0.state, $0.saved) }
        guard let now, let saved else { return }
        // Heartbeats move the position only, and a start can read some of them again.
        var hasMore =
            now.sequence != saved.sequence
            || now.position.number >= saved.position.number + StoreLimits.unsavedPositionCountMax
        if !hasMore {
            hasMore = try core.withSnapshot { (snapshot) throws(StoreError) in
                try snapshot.hasOutbox(upTo: now.lastOutboxGarbage)
            }
        }
        while hasMore {
            hasMore = try inOutboxSteps { (transaction, countMax) throws(StoreError) in
                try transaction.saveShipped(replication, removing: countMax)
            }
        }
    }

    /// Removes all that the outbox of a follower has.
    func clearOutbox() throws(StoreError) {
        while try inOutboxSteps({ (transaction, countMax) throws(StoreError) in
            (nil, try transaction.removeOutbox(upTo: .max, countMax: countMax))
        }) {}
    }

    /// Runs `body` in a transaction, with fewer removals where there is no room for more.
    ///
    /// - Parameter body: gets how many batches it may remove. It returns the state that it wrote, and how many
    ///   it has removed.
    /// - Returns: whether there may be more to remove.
    private func inOutboxSteps(
        _ body: (
            inout ChangeTransaction, Int
        ) throws(StoreError) -> (state: ReplicationState?, removedCount: Int)
    ) throws(StoreError) -> Bool {
        try whileWriting { () throws(StoreError) in
            try inShrinkingSteps(of: StoreLimits.outboxRemovedCountMax) {
                (countMax) throws(StoreError) in
                let (state, removedCount) = try inTransaction(
                    growth: 0, asOf: Timestamp(milliseconds: 0), isPublishing: false
                ) { (transaction) throws(StoreError) in
                    try body(&transaction, countMax)
                }
                if let state { core.replication.noteSaved(state, core.leases) }
                return removedCount == countMax
            }
        }
    }

    /// See ``BlobStore/outboxBatch(_:)``.
    func outboxBatch(_ sequence: UInt64) throws(StoreError) -> [UInt8]? {
        // The closure of `withLock` cannot throw `StoreError` here, so the result is a value.
        var result: Result<[UInt8]?, StoreError>?
        writing.withLock { _ in
            do throws(StoreError) {
                if let batch = try open.transaction?.outboxBatch(sequence) {
                    result = .success(batch)
                    return
                }
                result = .success(
                    try core.withSnapshot { (snapshot) throws(StoreError) in
                        try snapshot.outboxBatch(sequence)
                    })
            } catch {
                result = .failure(error)
            }
        }
        guard let result else { preconditionFailure("the lock ran its body") }
        return try result.get()
    }
}

extension ReplicationState {
    /// The last batch that the outbox has in vain: what a leader has shipped, and whatever a follower has; 0:
    /// none.
    fileprivate var lastOutboxGarbage: UInt64 {
        switch role {
        case .leader: sequence
        case .follower: .max
        case .deposed: 0
        }
    }
}

extension ChangeTransaction {
    /// Writes the state as it is now, with the segment and the batch that were shipped last, and removes some of
    /// what is shipped from the outbox.
    ///
    /// - Returns: the state that was written, which counts once it is committed; nil: the file has it. And how
    ///   many batches were removed.
    mutating func saveShipped(
        _ replication: Replication, removing countMax: Int
    ) throws(StoreError) -> (state: ReplicationState?, removedCount: Int) {
        let (state, saved) = replication.knowledge.withLock { ($0.state, $0.saved) }
        guard let state else { return (nil, 0) }
        let isStale = state != saved
        if isStale { try setMeta(ReplicationState.name, to: state.bytes) }
        let count = try removeOutbox(upTo: state.lastOutboxGarbage, countMax: countMax)
        return (isStale ? state : nil, count)
    }

    /// Removes the first batches of the outbox, up to a batch.
    ///
    /// - Returns: how many.
    fileprivate mutating func removeOutbox(
        upTo sequence: UInt64, countMax: Int
    ) throws(StoreError) -> Int {
        let keys = try outboxKeys(upTo: sequence, countMax: countMax)
        for key in keys { try transaction.remove(key.span.bytes, in: tables.index) }
        return keys.count
    }

    private borrowing func outboxKeys(
        upTo sequence: UInt64, countMax: Int
    ) throws(StoreError) -> [[UInt8]] {
        var keys: [[UInt8]] = []
        var cursor = try transaction.cursor(in: tables.index)
        var isThere = try cursor.seekOutbox(upTo: sequence)
        while isThere, keys.count < countMax {
            keys.append(cursor.key.array())
            guard try cursor.next() else { break }
            isThere = try cursor.isInOutbox(upTo: sequence)
        }
        return keys
    }

    /// One batch of the outbox, as this transaction has it.
    fileprivate borrowing func outboxBatch(_ sequence: UInt64) throws(StoreError) -> [UInt8]? {
        let key = IndexKeys.outbox(sequence)
        return try transaction.get(key.span.bytes, in: tables.index)?.array()
    }
}

extension Snapshot {
    /// Whether the outbox has a batch up to a number.
    fileprivate borrowing func hasOutbox(upTo sequence: UInt64) throws(StoreError) -> Bool {
        var cursor = try transaction.cursor(in: store.tables.index)
        return try cursor.seekOutbox(upTo: sequence)
    }
}

extension Cursor {
    /// Goes to the first batch of the outbox.
    ///
    /// - Returns: false when there is none up to `sequence`.
    @_lifetime(self: copy self)
    fileprivate mutating func seekOutbox(upTo sequence: UInt64) throws(StoreError) -> Bool {
        let prefix = [IndexKeys.outboxPrefix]
        guard try seek(prefix.span.bytes) else { return false }
        return try isInOutbox(upTo: sequence)
    }

    /// Whether it stands at a batch of the outbox up to a number.
    fileprivate borrowing func isInOutbox(upTo sequence: UInt64) throws(StoreError) -> Bool {
        guard key.byte(0) == IndexKeys.outboxPrefix else { return false }
        guard let number = IndexKeys.number(key) else { throw .corrupt("a key of the outbox") }
        return number <= sequence
    }
}
