import BlobStore
import Logging

/// Connections that wait for the commit of everything that was acknowledged before their request.
struct CommitWaiters {
    private struct Waiter {
        let connection: ConnectionAddress
        /// The commit that has what was acknowledged before the request; 0: all was committed.
        let transaction: UInt64
    }

    private var waiters: [Waiter] = []

    var isEmpty: Bool { waiters.isEmpty }

    /// Adds the waiters of a batch. They wait for earlier changes, not for those of the batch.
    mutating func add(from batch: ChangeBatch, transaction: UInt64) {
        for waiter in batch.waiters {
            guard case .waitForCommit = waiter.completion else { continue }
            waiters.append(Waiter(connection: waiter.connection, transaction: transaction))
        }
    }

    /// Completes the waiters whose changes are committed or, if nothing is pending, all of them.
    mutating func completeCommitted(in store: BlobStore) {
        guard !waiters.isEmpty else { return }
        let last = store.lastCommit
        let isEmpty = store.pendingCounts.isEmpty
        complete(with: .committed) { isEmpty || $0.transaction <= last }
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

/// Edits of categories that are not yet announced to all owners. A client is answered after that: if it then asks for
/// changes, it finds them.
struct CategoryAnnouncements {
    private var hasEdits = false
    private var editors: [(connection: ConnectionAddress, result: ChangeResult, span: BatchSpan)] =
        []
    private var errorLog: RateLimitedLog

    init(_ log: Logger) {
        errorLog = RateLimitedLog(log)
    }

    mutating func complete(
        _ connection: ConnectionAddress, with result: ChangeResult, in span: BatchSpan
    ) {
        hasEdits = true
        editors.append((connection, result, span))
    }

    /// Does one step. Only throws ``StoreError/outcomeUnknown(_:)``.
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
        for editor in editors {
            editor.connection.post(.changed(editor.result, in: editor.span))
        }
        editors = []
    }
}
