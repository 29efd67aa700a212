internal import LMDB

// A checkpoint brings what the log has to `data.mdb`, with the batch that asked for it. Wherever it fails, what was
// acknowledged is committed by a replay of the log, or this process writes nothing any more.

extension CommitPipeline {
    /// Commits what is in the log. Only inside ``whileWriting(committing:_:)``.
    func commitOpen() throws(StoreError) {
        guard let transaction = open.transaction.take() else { return try requireNothingPending() }
        _ = try checkpoint(transaction)
    }

    /// Throws ``StoreError/outcomeUnknown(_:)`` where the log has acknowledged changes and no transaction does:
    /// any commit would have the log forget them. The next start replays them.
    func requireNothingPending() throws(StoreError) {
        guard open.isPending else { return }
        throw .outcomeUnknown(
            "acknowledged changes are in \(WriteAheadLog.fileName) and not committed")
    }

    /// Commits that no log is in use, if one was. Only inside ``whileWriting(committing:_:)``, with
    /// all that was in the log committed.
    func noteLogEnded() throws(StoreError) {
        guard let state = try logReader.stateNow().state, state.isInUse else { return }
        _ = try setLogState(state.id, isInUse: false)
    }

    /// Commits whether a log is in use. `body`: what is done before it is committed, with the transaction's
    /// number. Returns the transaction's number.
    func setLogState(
        _ id: LogID, isInUse: Bool,
        _ body: (UInt64) throws(StoreError) -> Void = { (_) throws(StoreError) in () }
    ) throws(StoreError) -> UInt64 {
        try inTransaction(
            isPublishing: false
        ) { (transaction) throws(StoreError) in
            let number = transaction.transaction.id
            try body(number)
            let state = LogState(id: id, isInUse: isInUse, firstTransaction: number)
            try transaction.set(state)
            return number
        }
    }

    /// Commits the open transaction, after which the log begins again at its start. Returns false when there
    /// was no room for what the log does not have; what it has is committed.
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

    /// Commits what the log has, which is acknowledged and must be: in free pages, if need be. Pages that it
    /// refers to may be among those that are given back.
    private func replayInFreePages(notifying owners: [String]) throws(StoreError) {
        try completeLog()
        makeRoom()
        try replay(notifying: owners)
    }
}
