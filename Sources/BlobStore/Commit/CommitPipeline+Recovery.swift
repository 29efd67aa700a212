internal import Bytes
internal import Glibc
internal import LMDB
internal import Synchronization

// What the log has when a store is opened becomes pending again, and is committed.

extension CommitPipeline {
    /// Commits what the log has when the store is opened, and that no log is in use.
    func recoverLog() throws(StoreError) {
        let mark = pending.mark
        let last = try core.snapshot().transaction.id
        do throws(StoreError) {
            guard let state = try logReader.stateNow().state, state.isInUse else { return }
            let contents = try WriteAheadLog.contents(in: core.directory, state, after: last, mark)
            if contents.records.isEmpty {
                // Where there is no room for it, the log stays in use, and as it is.
                try ignoringFull { () throws(StoreError) in try noteLogEnded() }
            } else {
                try replay(contents.records, over: last)
                // Nothing else is written before this is committed.
                let byteCount = contents.records.reduce(0) { $0 + $1.count }
                _ = try setLogState(state.id, isInUse: false, growth: 2 * byteCount)
                core.options.onLogNotice?(.replayed(changes: contents.changeCount))
            }
            if contents.isLastDropped { core.options.onLogNotice?(.lastRecordDropped) }
        } catch {
            guard case .corrupt(let reason) = error else { throw error }
            guard core.options.discardsLog else {
                throw .cannotOpen(path: core.directory, reason: logReader.lostChanges(reason, last))
            }
            core.options.onLogNotice?(.discarded(reason: reason))
            try ignoringFull { () throws(StoreError) in
                _ = try setLogState(.random(), isInUse: false) { (transaction) throws(StoreError) in
                    // Ids that were assigned in it are in links.
                    try transaction.counters.skipIDs(.random(in: StoreLimits.restoredGaps))
                }
            }
        }
    }

    /// Puts what records have into the memtable over a commit.
    private func replay(_ records: [[UInt8]], over last: UInt64) throws(StoreError) {
        let memtable = core.memtables.current(over: last)
        let tables = core.tables.all
        do throws(StoreError) {
            for record in records {
                var reader = OperationReader(
                    record.span.bytes.extracting(droppingFirst: LogRecord.byteCount))
                while let operation = reader.next() {
                    guard let table = tables.first(where: { $0.number == operation.table }) else {
                        throw .corrupt(
                            "a record of the write-ahead log has the unknown table \(operation.table)"
                        )
                    }
                    if operation.isPut {
                        memtable.put(operation.key, operation.value, in: table.number)
                    } else {
                        memtable.delete(operation.key, in: table.number)
                    }
                }
                guard reader.isAtEnd else {
                    throw .corrupt("a record of the write-ahead log ends inside an operation")
                }
            }
        } catch {
            memtable.rollBack(to: 0)
            throw error
        }
        core.memtables.publish()
    }
}
