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
    /// Until then no snapshot has them: whoever reads asks ``unsettled`` first. All that writes must
    /// be called on the thread that called this, since LMDB ties a transaction to one.
    ///
    /// - Throws: ``StoreError/full`` when there is no room for the log: batches are then committed
    ///   one by one. ``StoreError/io(operation:errno:)``, ``StoreError/outcomeUnknown(_:)``.
    package func beginLogging() throws(StoreError) {
        precondition(!isReadOnly, "the store was opened for reading only")
        try whileWriting { () throws(StoreError) in
            settlement.log = try ChangeLog(directory, of: id, .creating)
        }
    }

    /// Commits what is in the log and not in `data.mdb`, and commits each batch from now on. Call it
    /// before the thread that writes ends.
    package func endLogging() throws(StoreError) {
        try whileWriting { () throws(StoreError) in
            guard let log = settlement.log else { return }
            settlement.log = nil
            try log.clear()
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

    /// Runs `body` in the open transaction, and either writes what it did to the log or commits it
    /// with all that is there already. Only inside `whileWriting(settling: false)`.
    ///
    /// - Parameters:
    ///   - growth: bytes it may add to the file.
    ///   - byteCount: bytes that it writes, about.
    ///   - isSettling: commit it in any case.
    ///   - isPublishing: whether it needs room; deletes and expiry live on the reserve.
    /// - Throws: what `body` throws, with nothing changed; ``StoreError/full``;
    ///   ``StoreError/outcomeUnknown(_:)``.
    func inOpenTransaction<Result>(
        growth: Int, byteCount: Int, isSettling: Bool, asOf now: Timestamp, isPublishing: Bool,
        _ body: (inout ChangeTransaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        let growthInAll = settlement.growth + growth
        let isLogged =
            settlement.log != nil && !isSettling && byteCount <= StoreLimits.loggedBatchByteCountMax
            && growthInAll <= unsettledGrowthMax
        guard isLogged || settlement.isPending, hasRoomAtEnd(growthInAll) else {
            // Without room each batch is committed by itself, so that it is known what fits.
            try settleOpen()
            return try inTransaction(
                growth: growth, asOf: now, isPublishing: isPublishing, body)
        }
        var transaction = try openTransaction(asOf: now)
        transaction.transaction.redo.restart(
            prefixByteCount: LogRecord.byteCount,
            byteCountMax: isLogged ? StoreLimits.logRecordByteCountMax : 0)
        let result: Result
        do throws(StoreError) {
            result = try body(&transaction)
        } catch {
            try redo(insteadOf: transaction)
            throw error
        }
        if transaction.transaction.redo.operationCount == 0 {
            // What changed nothing costs no sync.
            if settlement.isPending { settlement.transaction = consume transaction }
            return result
        }
        settlement.growth = growthInAll
        if try log(&transaction) {
            settlement.transaction = consume transaction
        } else if try !commitOpen(transaction) {
            throw .full
        }
        return result
    }

    /// Commits what is in the log. Only inside ``whileWriting(settling:_:)``.
    func settleOpen() throws(StoreError) {
        guard let transaction = settlement.transaction.take() else { return }
        _ = try commitOpen(transaction)
    }

    /// Bytes that what is in the log may add to the file. Room for them is had ahead, and counts as
    /// the file's, so a small file has less.
    private var unsettledGrowthMax: Int {
        let share = environment.usedByteCount / StoreLimits.unsettledGrowthParts
        let range = StoreLimits.unsettledGrowthRange
        return min(max(share, range.lowerBound), range.upperBound)
    }

    /// Whether the file has room at its end for so much, so that a commit cannot fail for want of
    /// any.
    private func hasRoomAtEnd(_ growth: Int) -> Bool {
        do throws(StoreError) {
            return try space.prepare(growth: growth) == .atEnd
        } catch {
            return false
        }
    }

    private func openTransaction(asOf now: Timestamp) throws(StoreError) -> ChangeTransaction {
        guard var transaction = settlement.transaction.take() else {
            return try ChangeTransaction(self, asOf: now)
        }
        transaction.now = now
        return transaction
    }

    /// Writes what the last batch did to the log.
    ///
    /// - Returns: false when it is too long for that.
    private func log(_ transaction: inout ChangeTransaction) throws(StoreError) -> Bool {
        guard let log = settlement.log else { return false }
        do throws(LMDBError) {
            try transaction.putCounters()
        } catch {
            throw .outcomeUnknown(error.description)
        }
        let byteCount = transaction.transaction.redo.bytes.count
        guard !transaction.transaction.redo.isOverfull, log.hasRoom(byteCount) else { return false }
        let head = LogRecord(
            storeID: id, transaction: transaction.transaction.id, index: log.recordCount,
            operationCount: UInt32(transaction.transaction.redo.operationCount),
            operationByteCount: byteCount - LogRecord.byteCount)
        transaction.transaction.redo.finish(alignment: LogRecord.alignment) { bytes in
            head.write(into: &bytes)
        }
        // Before it is written: where the log has a change that no snapshot has, this says so.
        noteKeys(in: transaction.transaction.redo.bytes.span.bytes, head)
        let owners = transaction.touchedOwners[settlement.notedOwnerCount...]
        for owner in owners { unsettled.insert(owner.utf8.span.bytes, .owner) }
        settlement.notedOwnerCount = owners.endIndex
        unsettled.addBatch()
        try log.append(transaction.transaction.redo.bytes)
        settlement.isAwaited = settlement.isAwaited || feedWatch.isAwaited(owners)
        return true
    }

    private func noteKeys(in record: RawSpan, _ head: LogRecord) {
        let operations = record.extracting(
            LogRecord.byteCount..<LogRecord.byteCount + head.operationByteCount)
        var reader = RedoReader(operations)
        while let operation = reader.next() {
            switch operation.table {
            case Int(tables.notifications.number): unsettled.insert(operation.key, .notification)
            case Int(tables.blobs.number): unsettled.insert(operation.key, .blob)
            default: break
            }
        }
    }

    /// Commits the open transaction.
    ///
    /// - Returns: false when there was no room for what the log does not have; what it has is
    ///   committed.
    private func commitOpen(
        _ transaction: consuming ChangeTransaction
    ) throws(StoreError) -> Bool {
        let commit = Commit(transaction)
        let growth = settlement.growth
        do throws(LMDBError) {
            try transaction.commit()
        } catch {
            let failure = failure(of: error, growth: growth)
            guard case .full = failure else { throw failure }
            try redoOpen(notifying: commit.owners)
            return false
        }
        note(commit)
        return true
    }

    /// Does again what the log has, in place of a transaction in which something failed.
    private func redo(insteadOf transaction: consuming ChangeTransaction) throws(StoreError) {
        let owners = transaction.touchedOwners
        // LMDB has one transaction at a time.
        _ = consume transaction
        try redoOpen(notifying: owners)
    }

    private func redoOpen(notifying owners: [String]) throws(StoreError) {
        guard settlement.isPending else {
            settlement.growth = 0
            return
        }
        do throws(StoreError) {
            try redoLog()
        } catch {
            throw .outcomeUnknown(
                "what was acknowledged is in \(ChangeLog.fileName) and was not committed: \(error)")
        }
        let counters = try withSnapshot { (snapshot) throws(StoreError) in
            try snapshot.counters()
        }
        feedWatch.notify(owners, at: counters.revision)
    }

    /// All that is in the log is in `data.mdb`, too.
    func noteSettled() {
        settlement.log?.restart()
        settlement.growth = 0
        unsettled.clear()
        settlement.isAwaited = false
        settlement.notedOwnerCount = 0
    }
}
