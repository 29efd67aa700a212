internal import CLinux
internal import Glibc
internal import LMDB
internal import Synchronization

// How a batch gets into the write-ahead log.

extension CommitPipeline {
    /// Whether the disk has room for a log with the bytes of all long values, which a start after a crash makes. True
    /// where the disk does not say.
    func hasRoomForInlinedLog(with batch: BatchPlan) -> Bool {
        guard let disk = Disk(core.environment.dataDescriptor) else { return true }
        let byteCount = StoreLimits.logByteCount + open.overflowByteCount + batch.byteCount
        return disk.availableByteCount >= 2 * byteCount
    }

    /// Appends what the last batch did to the log. Returns false when it is to be committed instead.
    func append(
        _ transaction: inout ChangeTransaction, changeCount: Int
    ) throws(StoreError) -> Bool {
        guard case .log = transaction.destination, let log = open.log else { return false }
        do throws(LMDBError) {
            try transaction.putCounters()
        } catch {
            throw .outcomeUnknown(error.description)
        }
        let byteCount = transaction.transaction.operations.bytes.byteCount
        guard !transaction.transaction.operations.isOverfull,
            byteCount <= StoreLimits.logRecordByteCountMax, log.hasRoom(byteCount)
        else {
            return false
        }
        let start = clinux_monotonic_ns()
        try writeOverflowPages(&transaction)
        let head = LogRecord(
            logID: log.id, transaction: transaction.transaction.id, index: log.recordCount,
            operationCount: UInt32(transaction.transaction.operations.operationCount),
            operationByteCount: byteCount - LogRecord.byteCount,
            changeCount: UInt32(changeCount),
            hasOverflow: transaction.transaction.operations.hasOverflow)
        transaction.transaction.operations.finish(alignment: LogRecord.alignment) { bytes in
            head.write(into: &bytes)
        }
        // Before it is written: what fails here has changed nothing.
        var isPublished = false
        defer { if !isPublished { core.memtables.dropUnpublished() } }
        try addToMemtable(transaction)
        let mark = pending.mark
        guard pending.addBatch(of: head.transaction, changeCount: changeCount),
            try log.append(transaction.transaction.operations.bytes)
        else {
            pending.removeBatch(after: mark)
            return false
        }
        pending.noteSynced()
        core.durations.log.note(nanoseconds: clinux_monotonic_ns() - start)
        logByteCount.store(log.offset, ordering: .relaxed)
        let owners = transaction.takeTouchedOwners()
        core.memtables.publish()
        isPublished = true
        // Who is woken looks at once, and finds it.
        if !owners.isEmpty { feedWatch.notify(owners, at: transaction.counters.revision) }
        return true
    }

    /// Adds what the last batch did to what readers find in memory.
    private func addToMemtable(_ transaction: borrowing ChangeTransaction) throws(StoreError) {
        let memtable = core.memtables.current(over: transaction.transaction.id - 1)
        let tables = core.tables.all
        let pages = OverflowInliner(core: core)
        var reader = OperationReader(
            transaction.transaction.operations.bytes.extracting(
                droppingFirst: transaction.transaction.operations.prefixByteCount),
            hasOverflow: true)
        for _ in 0..<transaction.transaction.operations.operationCount {
            guard let operation = reader.next(),
                let table = tables.first(where: { $0.number == operation.table })
            else { throw .corrupt("a batch of changes has an unknown operation") }
            if !operation.isPut {
                memtable.delete(operation.key, in: table.number)
            } else if let place = operation.overflow {
                // The transaction has no more than its beginning in memory.
                let value = try pages.value(at: place, operation.key, in: operation.table)
                memtable.put(operation.key, value.span.bytes, in: table.number)
            } else {
                memtable.put(operation.key, operation.value, in: table.number)
            }
        }
    }

    /// Writes the long values of which the record has only the place. Before the record: where it is
    /// whole, they are.
    private func writeOverflowPages(_ transaction: inout ChangeTransaction) throws(StoreError) {
        let areWritten: Bool
        do throws(LMDBError) {
            areWritten = try transaction.transaction.writeOverflowPages()
        } catch {
            // Written, and not synced yet.
            guard isShortOfRoom(error, growth: open.growth.total) else {
                throw .outcomeUnknown(error.description)
            }
            throw .full
        }
        guard areWritten, fdatasync(core.environment.dataDescriptor) != 0 else { return }
        throw .outcomeUnknown("fdatasync \(DataFile.name): \(StoreError.system("fdatasync"))")
    }
}
