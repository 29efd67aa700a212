internal import CLinux
internal import LMDB
internal import Synchronization

// How what is pending gets into `data.mdb`.

extension CommitPipeline {
    /// Commits what is in the log. Only inside ``whileWriting(committing:_:)``. Where there is no room it stays there,
    /// and readable; so does ``StoreError/full`` say then.
    func commitPending() throws(StoreError) {
        do throws(StoreError) {
            try commitWhatIsThere()
        } catch {
            guard case .full = error else { throw error }
            uncommitted.isStuck = true
            makeRoom()
            try commitWhatIsThere()
        }
    }

    /// Like ``commitPending()``, but where that has just failed for want of room it is not tried again.
    func commitPendingUnlessStuck() throws(StoreError) {
        if uncommitted.isStuck { throw .full }
        try commitPending()
    }

    private func commitWhatIsThere() throws(StoreError) {
        try settle()
        guard uncommitted.isPending else { return }
        let transaction = try ChangeTransaction(core, asOf: Timestamp(milliseconds: 0))
        try commit(transaction, growth: uncommitted.growth.total)
    }

    /// Commits what is pending, and what `transaction` did, which is taken back where it throws. After that all that was
    /// pending still is, but for what was frozen.
    func commit(_ changed: consuming ChangeTransaction, growth: Int) throws(StoreError) {
        var transaction = changed
        do throws(StoreError) { try settle() } catch {
            transaction.rollBack()
            throw error
        }
        let commit = Commit(transaction)
        var saved: ReplicationState?
        var state: LogState?
        do throws(StoreError) {
            // Of what is pending alone the last record has the counters.
            if !uncommitted.isPending || transaction.isDirty { try transaction.putCounters() }
            if uncommitted.isPending, let log = uncommitted.log {
                saved = try saveShipped(in: &transaction)
                state = log.stateOnceCommitted
            }
            try core.tree.locking { () throws(StoreError) in
                try write(transaction.transaction.memtable, state, growth: growth)
            }
        } catch {
            transaction.rollBack()
            throw error
        }
        if let state { uncommitted.log?.first = state.first }
        if let saved { core.replication.noteSaved(saved, core.leases) }
        finish(commit)
    }

    /// Writes down how far shipping is, on the way. Damage to what waits to be shipped keeps nothing from being
    /// committed.
    func saveShipped(
        in transaction: inout ChangeTransaction
    ) throws(StoreError) -> ReplicationState? {
        let begin = transaction.mark
        do throws(StoreError) {
            return try transaction.saveShipped(
                core.replication, removing: StoreLimits.outboxRemovedCountMax
            ).state
        } catch {
            if case .outcomeUnknown = error { throw error }
            transaction.rollBack(to: begin)
            return nil
        }
    }

    /// Puts all that a memtable has into `data.mdb`, and commits. A change that meets a damaged page is refused as long as
    /// it can be: what is acknowledged is left out alone, and named, since all others would wait for it for ever.
    func write(
        _ memtable: Memtable, _ state: LogState?, growth: Int
    ) throws(StoreError) {
        var leftOut: [UInt: StoreError] = [:]
        while true {
            var current: MemtableEntry?
            do throws(StoreError) {
                try write(memtable, state, without: leftOut, growth: growth, &current)
                for reason in leftOut.values {
                    core.options.onLogNotice?(.leftOut(reason: "\(reason)"))
                }
                return
            } catch {
                guard case .corrupt = error, let entry = current, memtable.isPublished(entry),
                    leftOut.count < StoreLimits.damagedCountMax
                else { throw error }
                leftOut[entry.address] = error
            }
        }
    }

    /// Puts the entries of a memtable into `data.mdb`, in the order of the keys, each key once; commits and syncs.
    ///
    /// - Parameter current: the entry at which it throws.
    private func write(
        _ memtable: Memtable, _ state: LogState?, without leftOut: [UInt: StoreError], growth: Int,
        _ current: inout MemtableEntry?
    ) throws(StoreError) {
        let start = clinux_monotonic_ns()
        let tables = core.tables.all
        var tree = try StoreError.converting { () throws(LMDBError) in
            try core.environment.beginWrite()
        }
        memtable.writtenCount.store(0, ordering: .relaxed)
        try memtable.ownList.forEachNewest { (entry) throws(StoreError) in
            memtable.writtenCount.wrappingAdd(1, ordering: .relaxed)
            guard leftOut.isEmpty || leftOut[entry.address] == nil else { return }
            current = entry
            let table = tables[Int(entry.table)]
            if entry.length < 0 {
                try tree.remove(entry.key, in: table)
            } else if let rest = memtable.reference(of: entry) {
                try tree.set(entry.key, to: entry.bytes, rest.span.bytes, in: table)
            } else if table == core.tables.chunks {
                try tree.set(entry.key, to: entry.bytes, RawSpan(), in: table)
            } else {
                try tree.set(entry.key, to: entry.bytes, in: table)
            }
        }
        current = nil
        if let state {
            try tree.set(
                LogState.name.utf8.span.bytes, to: state.value.span.bytes, in: core.tables.meta)
        }
        do throws(LMDBError) {
            try tree.commit()
        } catch {
            throw failure(of: error, growth: growth)
        }
        core.durations.commit.note(nanoseconds: clinux_monotonic_ns() - start)
    }

    /// Commits that no log is in use, if one was.
    func noteLogEnded() throws(StoreError) {
        guard let state = try logReader.stateNow().state, state.isInUse else { return }
        _ = try setLogState(state.id, isInUse: false)
    }

    /// Commits whether a log is in use, and what `body` does before that. Returns the transaction's number.
    func setLogState(
        _ id: Nonce, isInUse: Bool, growth: Int = 0,
        _ body: (inout ChangeTransaction) throws(StoreError) -> Void = { (_) throws(StoreError) in
            ()
        }
    ) throws(StoreError) -> UInt64 {
        try inTransaction(
            growth: growth, isPublishing: false
        ) { (transaction) throws(StoreError) in
            try body(&transaction)
            let number = transaction.transaction.id
            let state = LogState(id: id, isInUse: isInUse, first: LogFirst(number))
            try transaction.set(state)
            return number
        }
    }
}
