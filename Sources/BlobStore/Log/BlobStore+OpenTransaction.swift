internal import LMDB
internal import Synchronization

// The transaction that has what the log has: how a batch is done in it, written to the log or
// committed, and what happens when that fails.

extension BlobStore {
    /// Runs `body` in the open transaction, and either writes what it did to the log or commits it
    /// with all that is there already. Only inside `whileWriting(settling: false)`.
    ///
    /// - Parameters:
    ///   - batch: what it may add to the file, and writes.
    ///   - isSettling: commit it in any case.
    ///   - isPublishing: whether it needs room; deletes and expiry live on the reserve.
    /// - Throws: what `body` throws, with nothing changed; ``StoreError/full``;
    ///   ``StoreError/outcomeUnknown(_:)``.
    func inOpenTransaction<Result>(
        _ batch: BatchPlan, isSettling: Bool, asOf now: Timestamp, isPublishing: Bool,
        _ body: (inout ChangeTransaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        var growthInAll = settlement.growth
        if !settlement.isPending, settlement.log != nil {
            growthInAll.tableByteCount = (try? tableByteCount()) ?? .max
        }
        growthInAll.add(batch)
        let isLogged =
            settlement.log != nil && !isSettling
            && batch.byteCount <= StoreLimits.loggedBatchByteCountMax
            && growthInAll.total <= unsettledGrowthMax
        guard isLogged || settlement.isPending, hasRoomAtEnd(growthInAll.total) else {
            // Without room each batch is committed by itself, so that it is known what fits.
            try settleOpen()
            return try inTransaction(
                growth: batch.growth, asOf: now, isPublishing: isPublishing, body)
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
            // What changed nothing costs no sync, but for those who wait for what was changed before.
            if settlement.isPending {
                settlement.transaction = consume transaction
                if isSettling { try settleOpen() }
            }
            return result
        }
        if let now = try? transaction.transaction.pageCount(of: tables.allButChunks) {
            growthInAll.measure(tableByteCount: now * environment.pageByteCount)
        }
        settlement.growth = growthInAll
        if try log(&transaction, changeCount: batch.range.count) {
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

    /// Bytes of the pages that a change may copy: those of all tables but the chunks', at whose end
    /// it adds its own.
    private func tableByteCount() throws(StoreError) -> Int {
        do throws(LMDBError) {
            let view = try readers.begin(keeping: self)
            return try view.pageCount(of: tables.allButChunks) * environment.pageByteCount
        } catch {
            throw StoreError(error)
        }
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
    private func log(
        _ transaction: inout ChangeTransaction, changeCount: Int
    ) throws(StoreError) -> Bool {
        guard let log = settlement.log else { return false }
        do throws(LMDBError) {
            try transaction.putCounters()
        } catch {
            throw .outcomeUnknown(error.description)
        }
        let byteCount = transaction.transaction.redo.bytes.byteCount
        guard !transaction.transaction.redo.isOverfull, log.hasRoom(byteCount) else { return false }
        let head = LogRecord(
            logID: log.id, transaction: transaction.transaction.id, index: log.recordCount,
            operationCount: UInt32(transaction.transaction.redo.operationCount),
            operationByteCount: byteCount - LogRecord.byteCount,
            changeCount: UInt32(changeCount))
        transaction.transaction.redo.finish(alignment: LogRecord.alignment) { bytes in
            head.write(into: &bytes)
        }
        // Before it is written: where the log has a change that no snapshot has, this says so.
        noteKeys(in: transaction.transaction.redo.bytes, head)
        let owners = transaction.touchedOwners[settlement.notedOwnerCount...]
        for owner in owners { unsettled.insert(owner.utf8.span.bytes, .owner) }
        settlement.notedOwnerCount = owners.endIndex
        unsettled.addBatch(of: head.transaction, changeCount: changeCount)
        try log.append(transaction.transaction.redo.bytes)
        let counters = transaction.counters
        pendingCounters.withLock { $0 = counters }
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
        let growth = settlement.growth.total
        // What the log begins with from now on, until the next transaction's first record.
        let state =
            settlement.isPending
            ? settlement.log.map {
                LogState(id: $0.id, isInUse: true, firstTransaction: commit.number)
            } : nil
        do throws(LMDBError) {
            try transaction.commit(noting: state)
        } catch {
            let failure = failure(of: error, growth: growth)
            guard case .full = failure else { throw failure }
            try redoOpen(notifying: commit.owners)
            return false
        }
        // Also when the log has nothing of it.
        settlement.growth = OpenGrowth()
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
            settlement.growth = OpenGrowth()
            return
        }
        do throws(StoreError) {
            try redoLog()
        } catch {
            throw .outcomeUnknown(
                "acknowledged changes are in \(ChangeLog.fileName) and not committed: \(error)")
        }
        let counters = try withSnapshot { (snapshot) throws(StoreError) in
            try snapshot.counters()
        }
        feedWatch.notify(owners, at: counters.revision)
    }

    /// All that is in the log is in `data.mdb`, too.
    func noteSettled() {
        settlement.log?.restart()
        settlement.growth = OpenGrowth()
        unsettled.clear()
        pendingCounters.withLock { $0 = nil }
        settlement.isAwaited = false
        settlement.notedOwnerCount = 0
    }
}
