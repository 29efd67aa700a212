internal import Glibc
internal import LMDB

/// What the log has that `data.mdb` has not.
struct LogContents {
    /// The records, in their order.
    var records: [[UInt8]] = []
    /// The changes in them.
    var changeCount = 0
    /// Whether another record was begun and is not whole. A change that was being written leaves
    /// that, and so does one that was acknowledged and damaged: they cannot be told apart.
    var isLastDropped = false
}

/// What opening a store found in its log (`changes.log`).
public enum LogNotice: Sendable, Hashable, CustomStringConvertible {
    /// Changes that were acknowledged and only in the log were committed.
    case replayed(changes: Int)
    /// The last record was not whole. It was being written when the process ended; or it was
    /// acknowledged, and damaged later.
    case lastRecordDropped
    /// The log could not be used, and the store was opened without it (``BlobStore/Options/discardsLog``).
    case discarded(reason: String)

    /// What it means.
    public var description: String {
        switch self {
        case .replayed(let changes):
            "Replayed \(changes) changes from \(ChangeLog.fileName)"
        case .lastRecordDropped:
            "Dropped the incomplete last record of \(ChangeLog.fileName): an interrupted write, or an acknowledged change that was damaged later"
        case .discarded(let reason): "Opened without \(ChangeLog.fileName): \(reason)"
        }
    }
}

extension ChangeLog {
    /// Reads what the log of a store has behind the commit `last`.
    ///
    /// - Parameters:
    ///   - state: what `data.mdb` says of it.
    ///   - mark: what `changes.pending` said before this was called.
    /// - Throws: ``StoreError/corrupt(_:)``: the log is missing, or it is not what `data.mdb` says.
    static func contents(
        in directory: String, _ state: LogState, behind last: UInt64, _ mark: UnsettledKeys.Mark
    ) throws(StoreError) -> LogContents {
        guard state.isInUse else { return LogContents() }
        guard let log = try ChangeLog(directory, of: state.id, .reading) else {
            throw .corrupt("\(directory)/\(fileName) is missing")
        }
        guard try log.beginsAs(state, behind: last) else { return LogContents() }
        var contents = LogContents(records: try log.records(of: last + 1))
        for record in contents.records {
            let head = LogRecord(record.span.bytes, byteCountMax: StoreLimits.logByteCount)
            contents.changeCount += Int(head?.changeCount ?? 0)
        }
        // The last batch may not have been acknowledged: it is counted before it is written.
        let missing =
            mark.transaction == last + 1 ? mark.batchCount - contents.records.count : 0
        guard missing <= 1 else {
            throw .corrupt(
                "\(log.path) has \(contents.records.count) of the \(mark.batchCount) batches in \(UnsettledKeys.fileName)"
            )
        }
        if missing == 1 {
            contents.isLastDropped = true
        } else {
            contents.isLastDropped = try log.hasPart(of: last + 1, behind: contents.records)
        }
        return contents
    }

    /// Whether the log begins as `data.mdb` says: with a record of the next transaction, or with the
    /// last that it had before. A write that was cut off leaves one of these two there, since a
    /// record's head is in one sector.
    ///
    /// - Returns: false when the log was ended in order, so that all of it is committed.
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

    /// Whether a record was begun behind those that are whole.
    private func hasPart(of transaction: UInt64, behind records: [[UInt8]]) throws(StoreError)
        -> Bool
    {
        let offset = records.reduce(0) { $0 + LogRecord.padded($1.count) }
        guard offset < StoreLimits.logByteCount, let head = try anyHead(at: offset) else {
            return false
        }
        return head.logID == id && head.transaction == transaction
            && head.index == UInt32(records.count)
    }
}

extension BlobStore {
    /// What the log has, for a process that reads beside a writer or alone.
    ///
    /// A writer may commit, and begin the log again, between two looks: what is wrong with the log
    /// must be so three times, with no commit meanwhile.
    ///
    /// - Throws: ``StoreError/corrupt(_:)``, in the words of ``lostChanges(_:)``.
    func inspectLog() throws(StoreError) -> LogContents {
        var failures = 0
        for _ in 0..<Self.looksAtBusyLog {
            let mark = unsettled.mark
            let (state, last) = try logStateNow()
            guard let state else { return LogContents() }
            do throws(StoreError) {
                let contents = try ChangeLog.contents(in: directory, state, behind: last, mark)
                if try logStateNow().last == last { return contents }
            } catch {
                guard case .corrupt(let reason) = error else { throw error }
                if try logStateNow().last == last { failures += 1 }
                if failures == Self.looksAtLostLog { throw .corrupt(lostChanges(reason, last)) }
            }
            usleep(1_000)
        }
        // A writer commits all the time, and so has a log.
        return LogContents()
    }

    private static let looksAtBusyLog = 100
    private static let looksAtLostLog = 3

    /// What `data.mdb` says of the log, and its last transaction.
    func logStateNow() throws(StoreError) -> (state: LogState?, last: UInt64) {
        let snapshot = try Snapshot(self, isKept: true)
        return (try snapshot.logState(), snapshot.transaction.id)
    }

    /// What is wrong with the log, and what it means.
    func lostChanges(_ reason: String, _ last: UInt64) -> String {
        let mark = unsettled.mark
        let lost =
            mark.transaction == last + 1
            ? "up to \(mark.changeCount) acknowledged changes may be missing"
            : "an unknown number of acknowledged changes may be missing"
        return
            "\(reason): \(lost). Restore the file, or start without it: blobd serve --discard-log (BlobStore.Options.discardsLog)"
    }
}
