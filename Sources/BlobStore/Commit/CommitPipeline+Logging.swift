internal import LMDB
internal import Synchronization

// Changes that are acknowledged once they are in the log, and committed together a little later.
//
// The log is ahead of data.mdb by one LMDB transaction. The batches that are in it were done in one
// transaction, which stays open; when that is committed, the log begins again at its start. After a
// crash the same puts and deletes are done again, on the same tables (`BlobStore+Redo.swift`).

extension BlobStore {
    /// From now on batches of short changes are acknowledged when they are in the log
    /// (`changes.log`), which takes one sync of a few blocks. They are committed to `data.mdb` when
    /// ``settle()`` is called, when there are many, and with whatever else is changed.
    ///
    /// Until then no snapshot has them: whoever reads asks ``unsettled`` first. All changes must
    /// be made on one thread, since LMDB ties a transaction to one.
    ///
    /// - Throws: ``StoreError/full`` when there is no room for the log: batches are then committed
    ///   one by one. ``StoreError/io(operation:errno:)``, ``StoreError/outcomeUnknown(_:)``.
    package func beginLogging() throws(StoreError) {
        precondition(!isReadOnly, "the store was opened for reading only")
        try whileWriting { () throws(StoreError) in
            // The file is another log from here on, so `data.mdb` must not ask for the last one.
            try noteLogEnded()
            guard let log = try ChangeLog(directory, of: .random(), .creating) else { return }
            _ = try setLogState(log.id, isInUse: true) { (number) throws(StoreError) in
                try log.begin(in: number)
            }
            settlement.log = log
        }
    }

    /// Commits what is in the log and not in `data.mdb`, and commits each batch from now on. Call it
    /// before the thread that writes ends.
    package func endLogging() throws(StoreError) {
        try whileWriting { () throws(StoreError) in
            guard let log = settlement.log else { return }
            settlement.log = nil
            do throws(StoreError) {
                try log.end(in: try setLogState(log.id, isInUse: false))
            } catch {
                // Then the log stays as it is, and the next start finds it so.
                guard case .full = error else { throw error }
            }
        }
    }

    /// Commits that no log is in use, if one was. Only inside ``whileWriting(settling:_:)``, with all
    /// that was in the log committed.
    func noteLogEnded() throws(StoreError) {
        guard let state = try logStateNow().state, state.isInUse else { return }
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

    /// Commits what is in the log and not in `data.mdb`: as many disk flushes as any commit. Nothing
    /// happens when there is nothing.
    ///
    /// - Throws: ``StoreError/outcomeUnknown(_:)``: nothing is lost, but the process must be started
    ///   again.
    package func settle() throws(StoreError) {
        try whileWriting { () throws(StoreError) in () }
    }

    /// What is in the log and not in `data.mdb`.
    package struct Unsettled: Sendable {
        /// Whether there is anything.
        package var isPending: Bool
        /// Whether it has changes of an owner that somebody waits for.
        package var isAwaited: Bool
        /// Batches.
        package var batchCount: Int
        /// Bytes of the log that they take.
        package var byteCount: Int

        /// Nothing.
        package init() {
            self.init(isPending: false, isAwaited: false, batchCount: 0, byteCount: 0)
        }

        init(isPending: Bool, isAwaited: Bool, batchCount: Int, byteCount: Int) {
            self.isPending = isPending
            self.isAwaited = isAwaited
            self.batchCount = batchCount
            self.byteCount = byteCount
        }
    }

    /// What is in the log and not in `data.mdb`. Waits while a change is under way.
    package var unsettledChanges: Unsettled {
        writing.withLock { _ in
            Unsettled(
                isPending: settlement.isPending, isAwaited: settlement.isAwaited,
                batchCount: Int(settlement.log?.recordCount ?? 0),
                byteCount: settlement.log?.offset ?? 0)
        }
    }
}
