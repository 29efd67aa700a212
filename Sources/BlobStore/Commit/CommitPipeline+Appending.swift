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
        // Before it is written: where the log has a change that no snapshot has, this says so.
        pending.insertKeys(of: transaction.transaction.operations.bytes, head, core.tables)
        let owners = transaction.touchedOwners[open.notedOwnerCount...]
        for owner in owners { pending.insert(owner.utf8.span.bytes, .owner) }
        open.notedOwnerCount = owners.endIndex
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
        let counters = transaction.counters
        pendingCounters.withLock { $0 = counters }
        open.isAwaited = open.isAwaited || feedWatch.isAwaited(owners)
        return true
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
