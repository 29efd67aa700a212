internal import LMDB
internal import Synchronization

extension CommitPipeline {
    /// Makes a new log, in which batches are written from now on.
    func beginLogging() throws(StoreError) {
        try whileWriting { () throws(StoreError) in
            // The file is another log from here on, so `data.mdb` must not ask for the last one.
            try noteLogEnded()
            guard let log = try WriteAheadLog(core.directory, of: .random(), .creating) else {
                return
            }
            _ = try setLogState(log.id, isInUse: true) { (number) throws(StoreError) in
                try log.begin(in: number)
            }
            open.log = log
        }
    }

    /// Commits what is in the log and not in `data.mdb`, and commits each batch from now on.
    func endLogging() throws(StoreError) {
        try whileWriting { () throws(StoreError) in
            guard let log = open.log else { return }
            open.log = nil
            do throws(StoreError) {
                try log.end(in: try setLogState(log.id, isInUse: false))
            } catch {
                // Then the log stays as it is, and the next start finds it so.
                guard case .full = error else { throw error }
            }
        }
    }

    /// Commits that no log is in use, if one was. Only inside ``whileWriting(committing:_:)``, with
    /// all that was in the log committed.
    func noteLogEnded() throws(StoreError) {
        guard let state = try logReader.stateNow().state, state.isInUse else { return }
        _ = try setLogState(state.id, isInUse: false)
    }

    /// Commits whether a log is in use.
    ///
    /// - Parameter body: what is done before it is committed, with the transaction's number.
    /// - Returns: the transaction's number.
    func setLogState(
        _ id: LogID, isInUse: Bool,
        _ body: (UInt64) throws(StoreError) -> Void = { (_) throws(StoreError) in () }
    ) throws(StoreError) -> UInt64 {
        try inTransaction(
            growth: 0, asOf: Timestamp(milliseconds: 0), isPublishing: false
        ) { (transaction) throws(StoreError) in
            let number = transaction.transaction.id
            try body(number)
            let state = LogState(id: id, isInUse: isInUse, firstTransaction: number)
            try transaction.setMeta(LogState.name, to: state.bytes)
            return number
        }
    }

    /// Commits what is in the log and not in `data.mdb`. Nothing happens when there is nothing.
    func commitPending() throws(StoreError) {
        try whileWriting { () throws(StoreError) in () }
    }

    /// The counters with all that was acknowledged before.
    func counters() throws(StoreError) -> Counters {
        // They are asked first: what is committed between the two questions is in the snapshot.
        if let pending = pendingCounters.withLock({ $0 }) { return pending }
        return try core.withSnapshot { (snapshot) throws(StoreError) in try snapshot.counters() }
    }

    /// What is in the log and not in `data.mdb`. Waits while a change is under way.
    var pendingBatches: PendingBatches {
        writing.withLock { _ in
            var batches = PendingBatches()
            batches.isPending = open.isPending
            batches.isAwaited = open.isAwaited
            batches.batchCount = Int(open.log?.recordCount ?? 0)
            batches.byteCount = open.log?.offset ?? 0
            return batches
        }
    }
}
