internal import Glibc
internal import LMDB

/// What the log has that `data.mdb` has not.
struct LogContents {
    var records: [[UInt8]] = []
    var changeCount = 0
    /// Whether another record was begun and is not whole. A change that was being written leaves
    /// that, and so does one that was acknowledged and damaged: they cannot be told apart.
    var isLastDropped = false
}

extension WriteAheadLog {
    /// Reads what the log of a store has behind the commit `last`.
    ///
    /// - Parameters:
    ///   - state: what `data.mdb` says of it.
    ///   - mark: what `changes.pending` said before this was called.
    /// - Throws: ``StoreError/corrupt(_:)``: the log is missing, or it is not what `data.mdb` says.
    static func contents(
        in directory: String, _ state: LogState, behind last: UInt64, _ mark: PendingKeys.Mark
    ) throws(StoreError) -> LogContents {
        guard state.isInUse else { return LogContents() }
        guard let log = try WriteAheadLog(directory, of: state.id, .reading) else {
            throw .corrupt("\(directory)/\(fileName) is missing")
        }
        guard try log.beginsAs(state, behind: last) else { return LogContents() }
        var contents = LogContents(records: try log.records(of: last + 1))
        for record in contents.records {
            let head = LogRecord(record.span.bytes, byteCountMax: record.count)
            contents.changeCount += Int(head?.changeCount ?? 0)
        }
        // The last batch may not have been acknowledged: it is counted before it is written.
        let count = contents.records.count
        let isOfMark = mark.transaction == last + 1
        let missing = isOfMark ? mark.batchCount - count : 0
        guard missing <= 1, !isOfMark || count >= mark.syncedBatchCount else {
            throw .corrupt(
                "\(log.path) has \(count) of the \(max(mark.batchCount - 1, mark.syncedBatchCount)) batches in \(PendingKeys.fileName)"
            )
        }
        if missing == 1 {
            contents.isLastDropped = true
        } else {
            contents.isLastDropped = try log.hasPart(of: last + 1, behind: contents.records)
        }
        return contents
    }

    /// Whether the log begins as `data.mdb` says: with a record of the next transaction, or with the last that
    /// it had before. A write that was cut off leaves one of these two there, since a record's head is in one
    /// sector. Returns false when the log was ended in order, so that all of it is committed.
    private func beginsAs(_ state: LogState, behind last: UInt64) throws(StoreError) -> Bool {
        let byteCount = try byteCount()
        guard byteCount >= StoreLimits.logByteCount else {
            throw .corrupt(
                byteCount == 0
                    ? "\(path) is empty"
                    : "\(path) is truncated: it has \(byteCount) of \(StoreLimits.logByteCount) bytes"
            )
        }
        guard let head = try anyHead(at: 0) else {
            throw .corrupt("\(path) does not begin with a record: it was emptied or overwritten")
        }
        guard head.logID == id else {
            throw .corrupt("\(path) belongs to another store or to an earlier run")
        }
        if head.kind == .ended { return false }
        if head.transaction > last + 1 { throw tooOld(head, last + 1) }
        guard head.transaction == last + 1 || head.transaction == state.firstTransaction else {
            throw .corrupt(
                "\(path) is too old: it begins with transaction \(head.transaction); \(DataFile.name) expects \(state.firstTransaction)"
            )
        }
        return true
    }

    private func hasPart(of transaction: UInt64, behind records: [[UInt8]]) throws(StoreError)
        -> Bool
    {
        let offset = records.reduce(0) { $0 + LogRecord.padded($1.count) }
        guard let head = try anyHead(at: offset) else {
            return false
        }
        return head.logID == id && head.transaction == transaction
            && head.index == UInt32(records.count)
    }
}
