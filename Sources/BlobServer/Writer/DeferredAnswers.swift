import BlobStore
import Logging

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
        // If the count has not changed since a connection asked, what it asked for is pending, unless nothing is.
        let commitCount = pendingKeys.commitCount
        let isEmpty = pendingKeys.isEmpty
        complete(with: .committed) { isEmpty || $0.commitCount != commitCount }
    }

    mutating func completeAll(with result: ChangeResult) {
        complete(with: result) { _ in true }
    }

    private mutating func complete(with result: ChangeResult, _ isDone: (Waiter) -> Bool) {
        let done = waiters.filter(isDone)
        waiters.removeAll(where: isDone)
        InboxWakes.post(done.map { ($0.connection, .changed(result)) })
    }
}

/// Edits of categories that are not announced to all owners yet. A client is answered when its edit is: if it asks
/// for changes then, it finds them.
struct CategoryAnnouncements {
    private var hasEdits = false
    private var editors: [(connection: ConnectionAddress, result: ChangeResult)] = []
    private var errorLog: RateLimitedLog

    init(_ log: Logger) {
        errorLog = RateLimitedLog(log)
    }

    mutating func complete(_ connection: ConnectionAddress, with result: ChangeResult) {
        hasEdits = true
        editors.append((connection, result))
    }

    /// Does one step. Throws ``StoreError/outcomeUnknown(_:)`` alone.
    mutating func announce(in store: BlobStore) throws(StoreError) -> Bool {
        guard hasEdits else { return false }
        hasEdits = false
        do throws(StoreError) {
            hasEdits = try store.announceCategoryEdits(asOf: .now)
        } catch {
            if case .outcomeUnknown = error { throw error }
            // The edit is done. A later sweep announces the rest.
            errorLog.note(.error, "Cannot publish a category's change to its owners: \(error)")
        }
        if !hasEdits { completeAll() }
        return true
    }

    mutating func completeAll() {
        for editor in editors { editor.connection.post(.changed(editor.result)) }
        editors = []
    }
}
