internal import CLinux
internal import LMDB
internal import Synchronization

// How what is pending is committed while changes go on: it is frozen, written by whoever has the time, and settled.

extension CommitPipeline {
    /// Commits what is pending. Only while it is frozen, and again when it is settled, nothing is changed; so call it
    /// from a thread of its own. Where there is no room for it, it stays in the log, and readable; so does
    /// ``StoreError/full`` say then.
    func checkpoint() throws(StoreError) {
        let begun = try whileWriting(committing: false) { () throws(StoreError) in try freeze() }
        guard let begun else { return }
        _ = write(begun)
        try whileWriting(committing: false) { () throws(StoreError) in
            // Who could not wait has settled it.
            if uncommitted.frozen === begun { try settle() }
        }
    }

    /// Ends the memtable and the log's area: what follows comes into the next ones. Returns what is to be written; nil:
    /// nothing is pending. Only inside ``whileWriting(committing:_:)``.
    func freeze() throws(StoreError) -> FrozenChanges? {
        if let frozen = uncommitted.frozen { return frozen }
        guard uncommitted.isPending, let log = uncommitted.log else { return nil }
        try logShipped()
        let frozen = FrozenChanges(core.memtables.freeze(), log, uncommitted.growth)
        precondition(frozen.transaction == log.transaction, "a record says another transaction")
        log.restart()
        uncommitted.growth = PendingGrowth()
        uncommitted.frozen = frozen
        return frozen
    }

    /// Writes down how far shipping is, on the way. Where that fails it is written another time.
    private func logShipped() throws(StoreError) {
        let (state, saved) = core.replication.shard.withLock { ($0.state, $0.saved) }
        guard state != saved else { return }
        var transaction = try ChangeTransaction(core, asOf: Timestamp(milliseconds: 0))
        transaction.beginOwnBatch()
        guard let state = try saveShipped(in: &transaction) else { return transaction.rollBack() }
        var growth = uncommitted.growth
        growth.settle(
            touchedPageCount: transaction.transaction.touchedPageCount,
            entryByteCount: transaction.transaction.entryByteCount, removedChunkPageCount: 0)
        guard hasRoom(for: growth), try append(&transaction, changeCount: 0) else {
            return transaction.rollBack()
        }
        uncommitted.growth = growth
        core.replication.noteSaved(state, core.leases)
    }

    /// Puts what is frozen into `data.mdb`, unless somebody has. Returns how that went.
    private func write(_ frozen: FrozenChanges) -> Result<Void, StoreError> {
        core.tree.withLock { _ in
            if let result = frozen.result { return result }
            let result = Result { () throws(StoreError) in
                try write(frozen.memtable, frozen.state, growth: frozen.growth.total)
            }
            frozen.result = result
            return result
        }
    }

    /// Waits until what is frozen is committed, and notes it. Only inside ``whileWriting(committing:_:)``.
    func settle() throws(StoreError) {
        guard let frozen = uncommitted.frozen else { return }
        do throws(StoreError) { try write(frozen).get() } catch {
            // After a failed sync nothing is written again.
            if case .outcomeUnknown = error { throw error }
            if case .full = error { uncommitted.isStuck = true }
            core.tree.withLock { _ in frozen.result = nil }
            commitLag.store(0, ordering: .relaxed)
            throw error
        }
        uncommitted.frozen = nil
        commitLag.store(0, ordering: .relaxed)
        uncommitted.isStuck = false
        uncommitted.log?.first = frozen.state.first
        core.lastCommit.store(frozen.transaction, ordering: .releasing)
        core.memtables.retireFrozen()
        logByteCount.store(uncommitted.log?.byteCount ?? 0, ordering: .relaxed)
        if uncommitted.isPending {
            pending.noteCommitted(batchCount: UInt64(frozen.recordCount))
        } else {
            pending.clear()
        }
        space.coverLastPage()
    }
}
