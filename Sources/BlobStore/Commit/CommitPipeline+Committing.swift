internal import CLinux
internal import LMDB
internal import Synchronization

// How what is pending gets into `data.mdb`.

extension CommitPipeline {
    /// Commits what is in the log. Only inside ``whileWriting(committing:_:)``. Where there is no room it stays there,
    /// and readable; so does ``StoreError/full`` say then.
    func commitPending() throws(StoreError) {
        guard uncommitted.isPending else { return }
        do throws(StoreError) {
            try commitWhatIsThere()
        } catch {
            guard case .full = error else { throw error }
            makeRoom()
            try commitWhatIsThere()
        }
    }

    private func commitWhatIsThere() throws(StoreError) {
        let transaction = try ChangeTransaction(core, asOf: Timestamp(milliseconds: 0))
        let begin = transaction.mark
        try commit(transaction, since: begin, growth: uncommitted.growth.total)
    }

    /// Commits what is pending, and what `transaction` did, which is taken back where it throws. After that all that was
    /// pending still is.
    func commit(
        _ changed: consuming ChangeTransaction, since begin: ChangeTransaction.Mark, growth: Int
    ) throws(StoreError) {
        var transaction = changed
        let commit = Commit(transaction)
        var saved: ReplicationState?
        do throws(StoreError) {
            if uncommitted.isPending, let log = uncommitted.log {
                saved = try transaction.saveShipped(
                    core.replication, removing: StoreLimits.outboxRemovedCountMax
                ).state
                // What the log begins with from now on, until the next transaction's first record.
                try transaction.set(
                    LogState(id: log.id, isInUse: true, firstTransaction: commit.number))
            }
            try transaction.putCounters()
            try write(transaction.transaction.memtable, growth: growth)
        } catch {
            transaction.rollBack(to: begin)
            throw error
        }
        if let saved { core.replication.noteSaved(saved, core.leases) }
        finish(commit)
    }

    /// Puts all that a memtable has into `data.mdb`, in the order of the keys, each once; commits and syncs.
    private func write(_ memtable: Memtable, growth: Int) throws(StoreError) {
        let tables = core.tables.all
        do throws(LMDBError) {
            let start = clinux_monotonic_ns()
            var tree = try core.environment.beginWrite()
            try memtable.ownView.forEachNewest { (entry) throws(LMDBError) in
                let table = tables[Int(entry.table)]
                if entry.length < 0 {
                    _ = try tree.delete(entry.key, in: table)
                } else if table == core.tables.chunks {
                    try tree.put(entry.bytes, RawSpan(), forKey: entry.key, in: table)
                } else {
                    try tree.put(entry.bytes, forKey: entry.key, in: table)
                }
            }
            try tree.commit()
            core.durations.commit.note(nanoseconds: clinux_monotonic_ns() - start)
        } catch {
            throw failure(of: error, growth: growth)
        }
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
}
