import BlobStore

/// Connections that wait until everything that was acknowledged before they asked is committed.
struct CommitWaiters {
    private struct Waiter {
        let connection: ConnectionAddress
        /// How many commits there had been when it asked.
        let commitCount: UInt64
    }

    private var waiters: [Waiter] = []

    var isEmpty: Bool { waiters.isEmpty }

    /// Adds those of a batch. They wait for what was acknowledged before the batch, not for the batch.
    mutating func add(from batch: ChangeBatch, commitCount: UInt64) {
        for waiter in batch.waiters {
            guard case .waitForCommit = waiter.completion else { continue }
            waiters.append(Waiter(connection: waiter.connection, commitCount: commitCount))
        }
    }

    /// Completes those that asked before the last commit or, where nothing is pending, all of them.
    mutating func completeCommitted(in pendingKeys: PendingKeys) {
        guard !waiters.isEmpty else { return }
        // The count is read first. If it has not changed since a connection asked, what it asked for is
        // pending, unless nothing is.
        let commitCount = pendingKeys.commitCount
        let isEmpty = pendingKeys.isEmpty
        complete(with: .committed) { isEmpty || $0.commitCount != commitCount }
    }

    mutating func completeAll(with result: ChangeResult) {
        complete(with: result) { _ in true }
    }

    private mutating func complete(with result: ChangeResult, _ isDone: (Waiter) -> Bool) {
        var inboxes = InboxWakes()
        waiters.removeAll { waiter in
            guard isDone(waiter) else { return false }
            inboxes.leave(.changed(result), for: waiter.connection)
            return true
        }
        inboxes.wakeAll()
    }
}
