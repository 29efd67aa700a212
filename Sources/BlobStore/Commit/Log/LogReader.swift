internal import Glibc
internal import LMDB
internal import Synchronization

/// The write-ahead log as those see it who do not write it. Opening a store for reading waits once for the commit
/// of what is only in the log. In the daemon itself nobody waits: it asks `pending`, and lets its writer commit.
struct LogReader: Sendable {
    let core: StoreCore
    let pending: PendingCounts

    /// The last transaction that the log has something of and `data.mdb` has not; nil: `data.mdb` has all.
    private func uncommittedTransaction() throws(StoreError) -> UInt64? {
        let state = try stateNow().state
        guard let state, state.isInUse,
            let log = try WriteAheadLog(core.directory, of: state.id, .reading),
            let transaction = try log.lastTransaction(), transaction > (try stateNow().last)
        else { return nil }
        return transaction
    }

    /// Refuses a store whose log has what nobody is about to commit: its daemon died.
    func requireCommitted() throws(StoreError) {
        guard let awaited = try uncommittedTransaction() else { return }
        for look in 0..<StoreLimits.commitIntervalMillisecondsMax {
            // What follows meanwhile is not waited for.
            if try stateNow().last >= awaited { return }
            // A writer that is at work sets the mark before it writes a record, clears it after the
            // commit, and commits when it is asked.
            if !pending.isEmpty {
                pending.requestCommit()
            } else if look >= Self.unmarkedLookCountMax {
                break
            }
            usleep(1_000)
        }
        throw .cannotOpen(
            path: core.directory,
            reason:
                "\(WriteAheadLog.fileName) has changes that are not committed. If a daemon uses the store, it commits slowly: try again, or ask it by its socket. Otherwise open the store once for writing, for example with blobd serve"
        )
    }

    /// Looks, a millisecond apart, at a log that is ahead without a mark. Alongside a writer the commit
    /// is found by the second.
    private static let unmarkedLookCountMax = 100

    /// Refuses a store whose log is missing, or is not what `data.mdb` says.
    func requireLog() throws(StoreError) {
        do throws(StoreError) {
            _ = try contents()
        } catch {
            guard case .corrupt(let reason) = error else { throw error }
            throw .cannotOpen(path: core.directory, reason: reason)
        }
    }

    /// What the log has, for a process that reads alongside a writer, which may commit between two looks: what is
    /// wrong with the log must be so three times, with no commit meanwhile.
    func contents() throws(StoreError) -> LogContents {
        var failures = 0
        for _ in 0..<Self.looksAtBusyLog {
            let mark = pending.mark
            let (state, last) = try stateNow()
            guard let state else { return LogContents() }
            do throws(StoreError) {
                let contents = try WriteAheadLog.contents(
                    in: core.directory, state, after: last, mark)
                if try stateNow().last == last { return contents }
            } catch {
                guard case .corrupt(let reason) = error else { throw error }
                if try stateNow().last == last { failures += 1 }
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
    func stateNow() throws(StoreError) -> (state: LogState?, last: UInt64) {
        let snapshot = try core.snapshot()
        return (try snapshot.meta(), snapshot.transaction.id)
    }

    /// What is wrong with the log, and what it means.
    func lostChanges(_ reason: String, _ last: UInt64) -> String {
        let mark = pending.mark
        let lost =
            mark.last.transaction > last
            ? "up to \(mark.changeCount) acknowledged changes may be missing"
            : "an unknown number of acknowledged changes may be missing"
        return
            "\(reason): \(lost). Restore the file, or start without it: blobd serve --discard-log (BlobStore.Options.discardsLog)"
    }
}

/// What the log has that `data.mdb` has not.
struct LogContents {
    var records: [[UInt8]] = []
    var changeCount = 0
    /// Whether another record was begun and is not whole: one that was being written, or one that was acknowledged
    /// and damaged. They cannot be told apart.
    var isLastDropped = false
}

extension WriteAheadLog {
    /// Reads what the log of a store has after the commit `last`.
    static func contents(
        in directory: String, _ state: LogState, after last: UInt64, _ mark: PendingCounts.Mark
    ) throws(StoreError) -> LogContents {
        guard state.isInUse else { return LogContents() }
        guard let log = try WriteAheadLog(directory, of: state.id, .reading) else {
            throw .corrupt("\(directory)/\(fileName) is missing")
        }
        guard try log.beginsAs(state, after: last) else { return LogContents() }
        var contents = LogContents(records: try log.records(after: last))
        var counts: [UInt64: Int] = [:]
        for record in contents.records {
            let head = LogRecord(record.span.bytes, byteCountMax: record.count)
            contents.changeCount += Int(head?.changeCount ?? 0)
            counts[head?.transaction ?? 0, default: 0] += 1
        }
        // The last batch may not have been acknowledged: it is counted before it is written.
        for counted in [mark.last, mark.before] where counted.transaction > last {
            let count = counts[counted.transaction] ?? 0
            let missing = counted.batchCount - count
            guard missing <= 1, count >= counted.syncedBatchCount else {
                throw .corrupt(
                    "\(log.path) has \(count) of the \(max(counted.batchCount - 1, counted.syncedBatchCount)) batches in \(PendingCounts.fileName)"
                )
            }
            if missing == 1 { contents.isLastDropped = true }
        }
        let (first, second) = (counts[last + 1] ?? 0, counts[last + 2] ?? 0)
        if !contents.isLastDropped, second == 0 {
            contents.isLastDropped = try log.hasPart(of: last + 1, after: contents.records)
        }
        if !contents.isLastDropped, first > 0 {
            contents.isLastDropped = try log.hasPart(
                of: last + 2, after: Array(contents.records.suffix(second)))
        }
        return contents
    }

    /// Whether each area of the log begins as `data.mdb` says: with a record of the next transaction, or with the last
    /// that it had before. A write that was cut off leaves one of them, since a head is in one sector. Returns false
    /// when the log was ended in order.
    private func beginsAs(_ state: LogState, after last: UInt64) throws(StoreError) -> Bool {
        let begins = try begins()
        if let head = begins[0], head.logID == id {
            if head.kind == .ended { return false }
            guard !head.isOfEarlierVersion else {
                throw .cannotOpen(
                    path: path,
                    reason:
                        "blobd 0.2.0 has left changes in it; start that version once, and stop it")
            }
        }
        let byteCount = try fileByteCount()
        guard byteCount >= StoreLimits.logByteCount else {
            throw .corrupt(
                byteCount == 0
                    ? "\(path) is empty"
                    : "\(path) is truncated: it has \(byteCount) of \(StoreLimits.logByteCount) bytes"
            )
        }
        for (area, head) in begins.enumerated() {
            guard let head else {
                throw .corrupt(
                    "\(path) does not begin with a record: it was emptied or overwritten")
            }
            guard head.logID == id else {
                throw .corrupt("\(path) belongs to another store or to an earlier run")
            }
            let next = (last + 1) % 2 == UInt64(area) ? last + 1 : last + 2
            if head.transaction > next { throw tooOld(head, next) }
            guard state.first.allows(head.transaction, before: next) else {
                throw .corrupt(
                    "\(path) is too old: it begins with transaction \(head.transaction); \(DataFile.name) expects \(state.first[next])"
                )
            }
        }
        return true
    }
}
