internal import CLinux
internal import LMDB
internal import Synchronization

// How a batch gets into the write-ahead log.

extension CommitPipeline {
    /// Appends what a batch did to the log, and lets readers see it. Returns false when it is to be committed instead.
    func append(
        _ transaction: inout ChangeTransaction, changeCount: Int
    ) throws(StoreError) -> Bool {
        guard case .log = transaction.destination, let log = uncommitted.log else { return false }
        try transaction.putCounters()
        let byteCount = transaction.transaction.operations.bytes.byteCount
        guard !transaction.transaction.operations.isOverfull,
            byteCount <= StoreLimits.logRecordByteCountMax
        else { return false }
        log.begin(transaction.transaction.id)
        guard log.hasRoom(byteCount) else { return false }
        let start = clinux_monotonic_ns()
        let head = LogRecord(
            logID: log.id, transaction: transaction.transaction.id, index: log.recordCount,
            operationCount: UInt32(transaction.transaction.operations.operationCount),
            operationByteCount: byteCount - LogRecord.byteCount,
            recordCountBefore: uncommitted.frozen?.recordCount ?? 0,
            changeCount: UInt32(changeCount))
        transaction.transaction.operations.finish(alignment: LogRecord.alignment) { bytes in
            head.write(into: &bytes)
        }
        let mark = pending.mark
        do throws(StoreError) {
            guard pending.addBatch(of: head.transaction, changeCount: changeCount),
                try log.append(transaction.transaction.operations.bytes)
            else {
                pending.removeBatch(after: mark)
                return false
            }
        } catch {
            // It is not known whether it is on disk: nobody sees it, and nothing is written any more.
            transaction.rollBack()
            throw error
        }
        pending.noteSynced()
        core.durations.log.note(nanoseconds: clinux_monotonic_ns() - start)
        logByteCount.store(uncommitted.batches.byteCount, ordering: .relaxed)
        core.memtables.publish()
        // Who is woken looks at once, and finds it.
        if !transaction.touchedOwners.isEmpty {
            feedWatch.notify(transaction.touchedOwners, at: transaction.counters.revision)
        }
        return true
    }
}
