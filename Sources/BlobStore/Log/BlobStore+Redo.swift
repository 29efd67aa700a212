internal import LMDB
internal import Synchronization

extension BlobStore {
    /// Does again, and commits, what the log has and `data.mdb` has not: after a crash, or instead
    /// of a transaction in which a later batch failed. Nothing happens when there is nothing.
    ///
    /// - Throws: ``StoreError/corrupt(_:)`` when the log does not agree with itself or with
    ///   `data.mdb`; ``StoreError/full``; ``StoreError/outcomeUnknown(_:)``.
    func redoLog() throws(StoreError) {
        guard let log = try logIfThere() else { return }
        var transaction = try beginRedo()
        let number = transaction.id
        let records = try log.records(of: number)
        guard records.count >= log.recordCount else {
            throw .corrupt(
                "\(log.recordCount) records were written to the log, and \(records.count) are there"
            )
        }
        guard !records.isEmpty else { return }
        for record in records { try transaction.redo(record.span.bytes, tables) }
        let growth = records.reduce(0) { $0 + $1.count }
        do throws(LMDBError) {
            try transaction.commit()
        } catch {
            throw failure(of: error, growth: growth)
        }
        lastCommit.store(number, ordering: .releasing)
        noteSettled()
        space.coverLastPage()
    }

    private func logIfThere() throws(StoreError) -> ChangeLog? {
        if let log = settlement.log { return log }
        let id = try withSnapshot { (snapshot) throws(StoreError) in try snapshot.logID() }
        guard let id else { return nil }
        return try ChangeLog(directory, of: id, .writing)
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
    /// Does the puts and deletes of a record of the log.
    fileprivate mutating func redo(_ record: RawSpan, _ tables: Tables) throws(StoreError) {
        let all = tables.all
        var reader = RedoReader(record.extracting(droppingFirst: LogRecord.byteCount))
        while let operation = reader.next() {
            guard let table = all.first(where: { $0.number == operation.table }) else {
                throw .corrupt("a record of the log names table \(operation.table)")
            }
            if operation.isPut {
                try set(operation.key, to: operation.value, in: table)
            } else {
                try remove(operation.key, in: table)
            }
        }
        guard reader.isAtEnd else {
            throw .corrupt("a record of the log ends in the middle of a change")
        }
    }
}
