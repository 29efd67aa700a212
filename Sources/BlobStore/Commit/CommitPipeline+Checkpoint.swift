internal import LMDB

/// What the pipeline keeps between two batches that share a commit. Used inside `CommitPipeline.writing`.
final class OpenTransaction: @unchecked Sendable {
    // Sendable: its user holds `CommitPipeline.writing`, and LMDB's transaction, which belongs
    // to a thread, is made and ended by the one that called `BlobStore.beginLogging`.

    /// Where batches are written before they are acknowledged; nil: each batch is committed.
    var log: WriteAheadLog?
    /// The transaction that has what is in the log. It is open while there is something.
    var transaction: ChangeTransaction?
    var growth = OpenGrowth()
    /// Stored bytes of the batches whose long values are in pages, and not in the log.
    var overflowByteCount = 0

    /// Whether there are changes in the log that are not committed.
    var isPending: Bool { (log?.recordCount ?? 0) > 0 }

    var pendingBatches: PendingBatches {
        var batches = PendingBatches()
        batches.isPending = isPending
        batches.batchCount = Int(log?.recordCount ?? 0)
        batches.byteCount = log?.offset ?? 0
        return batches
    }

    /// All of it is committed: the log begins again at its start.
    func restart() {
        log?.restart()
        growth = OpenGrowth()
        overflowByteCount = 0
    }
}

/// What is in the write-ahead log and not in `data.mdb`.
package struct PendingBatches: Sendable {
    package var isPending = false
    package var batchCount = 0
    /// Bytes of the log that they take.
    package var byteCount = 0

    package init() {}
}

extension ChangeTransaction {
    /// Writes what the store says of its log where that changes; commits and syncs.
    consuming func commit(noting state: LogState?) throws(LMDBError) {
        if let state { try transaction.put(state, in: tables.meta) }
        try commit()
    }
}

// Wherever a checkpoint fails, what was acknowledged is committed by a replay of the log, or this process writes
// nothing any more.

extension CommitPipeline {
    /// Commits what is in the log. Only inside ``whileWriting(committing:_:)``.
    func commitOpen() throws(StoreError) {
        guard let transaction = open.transaction.take() else { return try requireNothingPending() }
        _ = try checkpoint(transaction)
    }

    /// Throws where the log has acknowledged changes and no transaction does: a commit would have the log forget
    /// them.
    func requireNothingPending() throws(StoreError) {
        guard open.isPending else { return }
        throw .outcomeUnknown(
            "acknowledged changes are in \(WriteAheadLog.fileName) and not committed")
    }

    /// Commits that no log is in use, if one was.
    func noteLogEnded() throws(StoreError) {
        guard let state = try logReader.stateNow().state, state.isInUse else { return }
        _ = try setLogState(state.id, isInUse: false)
    }

    /// Commits whether a log is in use, and what `body` does before that. Returns the transaction's number.
    func setLogState(
        _ id: Nonce, isInUse: Bool,
        _ body: (inout ChangeTransaction) throws(StoreError) -> Void = { (_) throws(StoreError) in
            ()
        }
    ) throws(StoreError) -> UInt64 {
        try inTransaction(
            isPublishing: false
        ) { (transaction) throws(StoreError) in
            try body(&transaction)
            let number = transaction.transaction.id
            let state = LogState(id: id, isInUse: isInUse, firstTransaction: number)
            try transaction.set(state)
            return number
        }
    }

    /// Commits the open transaction. Returns false when there was no room for what the log does not have.
    func checkpoint(
        _ begun: consuming ChangeTransaction
    ) throws(StoreError) -> Bool {
        var transaction = begun
        let commit = Commit(transaction)
        let saved: ReplicationState?
        let growth = open.growth.total
        // What the log begins with from now on, until the next transaction's first record.
        let state =
            open.isPending
            ? open.log.map {
                LogState(id: $0.id, isInUse: true, firstTransaction: commit.number)
            } : nil
        do throws(StoreError) {
            (saved, _) = try transaction.saveShipped(
                core.replication, removing: StoreLimits.outboxRemovedCountMax)
        } catch {
            _ = consume transaction
            try replayInFreePages(notifying: commit.owners)
            guard case .full = error else { throw error }
            return false
        }
        do throws(LMDBError) {
            try transaction.commit(noting: state)
        } catch {
            let error = failure(of: error, growth: growth)
            guard case .full = error else { throw error }
            try replayInFreePages(notifying: commit.owners)
            return false
        }
        // Also when the log has nothing of it.
        open.growth = OpenGrowth()
        if let saved { core.replication.noteSaved(saved, core.leases) }
        finish(commit)
        return true
    }

    /// Commits what the log has, in free pages if need be: pages that it refers to may be given back.
    private func replayInFreePages(notifying owners: [String]) throws(StoreError) {
        try inlineOverflowValues()
        makeRoom()
        try replay(notifying: owners)
    }
}
