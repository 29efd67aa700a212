internal import LMDB
internal import Synchronization

extension BlobStore {
    /// Does again, and commits, what the log has and `data.mdb` has not, instead of a transaction in
    /// which a later batch failed.
    ///
    /// - Throws: ``StoreError/corrupt(_:)`` when the log has not what was written to it;
    ///   ``StoreError/full``; ``StoreError/outcomeUnknown(_:)``.
    func redoLog() throws(StoreError) {
        guard let log = settlement.log else { return }
        let transaction = try beginRedo()
        let records = try log.records(of: transaction.id)
        guard records.count >= log.recordCount else {
            throw .corrupt(
                "the write-ahead log has \(records.count) of \(log.recordCount) written records"
            )
        }
        guard !records.isEmpty else { return }
        try redo(records, transaction, of: log.id, isInUse: true)
        noteSettled()
    }

    /// Does again what the log has when the store is opened, and commits that no log is in use.
    ///
    /// - Throws: ``StoreError/cannotOpen(path:reason:)`` when the log is not what it has to be, and
    ///   ``Options/discardsLog`` does not say to go on without it; ``StoreError/full``;
    ///   ``StoreError/outcomeUnknown(_:)``.
    func recoverLog() throws(StoreError) {
        let mark = unsettled.mark
        let last = try lastTransaction()
        do throws(StoreError) {
            guard let state = try logStateNow().state, state.isInUse else { return }
            let contents = try ChangeLog.contents(in: directory, state, behind: last, mark)
            if contents.records.isEmpty {
                // Where there is no room for it, the log stays in use, and as it is.
                try ignoringFull { () throws(StoreError) in try noteLogEnded() }
            } else {
                try redo(contents.records, try beginRedo(), of: state.id, isInUse: false)
                options.onLogNotice?(.replayed(changes: contents.changeCount))
            }
            if contents.isLastDropped { options.onLogNotice?(.lastRecordDropped) }
        } catch {
            guard case .corrupt(let reason) = error else { throw error }
            guard options.discardsLog else {
                throw .cannotOpen(path: directory, reason: lostChanges(reason, last))
            }
            options.onLogNotice?(.discarded(reason: reason))
            try ignoringFull { () throws(StoreError) in
                _ = try setLogState(.random(), isInUse: false)
            }
        }
    }

    private func lastTransaction() throws(StoreError) -> UInt64 {
        try Snapshot(self, isKept: true).transaction.id
    }

    private func ignoringFull(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        do throws(StoreError) {
            try body()
        } catch {
            guard case .full = error else { throw error }
        }
    }

    /// Does what records say, and commits it.
    private func redo(
        _ records: [[UInt8]], _ begun: consuming WriteTransaction, of id: LogID, isInUse: Bool
    ) throws(StoreError) {
        var transaction = begun
        let number = transaction.id
        for record in records { try transaction.redo(record.span.bytes, tables) }
        let growth = records.reduce(0) { $0 + $1.count }
        do throws(LMDBError) {
            let state = LogState(id: id, isInUse: isInUse, firstTransaction: number)
            try transaction.put(state, in: tables.meta)
            try transaction.commit()
        } catch {
            throw failure(of: error, growth: growth)
        }
        lastCommit.store(number, ordering: .releasing)
        space.coverLastPage()
    }

    private func beginRedo() throws(StoreError) -> WriteTransaction {
        do throws(LMDBError) {
            return try environment.beginWrite()
        } catch {
            throw StoreError(error)
        }
    }
}

extension WriteTransaction {
    /// Stores what the store says of its log.
    mutating func put(_ state: LogState, in meta: Table) throws(LMDBError) {
        let value = state.bytes
        try put(value.span.bytes, forKey: LogState.name.utf8.span.bytes, in: meta)
    }

    /// Does the puts and deletes of a record of the log.
    fileprivate mutating func redo(_ record: RawSpan, _ tables: Tables) throws(StoreError) {
        let all = tables.all
        var reader = RedoReader(record.extracting(droppingFirst: LogRecord.byteCount))
        while let operation = reader.next() {
            guard let table = all.first(where: { $0.number == operation.table }) else {
                throw .corrupt(
                    "a record of the write-ahead log has the unknown table \(operation.table)")
            }
            if operation.isPut {
                try set(operation.key, to: operation.value, in: table)
            } else {
                try remove(operation.key, in: table)
            }
        }
        guard reader.isAtEnd else {
            throw .corrupt("a record of the write-ahead log ends inside an operation")
        }
    }
}
