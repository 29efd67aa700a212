internal import Glibc
internal import LMDB
internal import Synchronization

/// The write-ahead log as those see it who do not write it: who opens a store, and who verifies it.
///
/// Who opens a store for reading has all that was acknowledged before: where a daemon has something in
/// its log alone, opening waits for its commit, once. In the daemon itself nobody waits: it asks
/// `pending`, and lets its writer commit.
struct LogReader: Sendable {
    let core: StoreCore
    let pending: PendingKeys

    /// Whether the log has what `data.mdb` has not. All that was acknowledged before this is called
    /// is in one of them: the first record of a transaction takes the place of that of the last one,
    /// which is committed by then.
    private func hasUncommittedLog() throws(StoreError) -> Bool {
        let state = try stateNow().state
        guard let state, state.isInUse,
            let log = try WriteAheadLog(core.directory, of: state.id, .reading),
            let transaction = try log.firstTransaction()
        else { return false }
        return transaction > (try stateNow().last)
    }

    /// Refuses a store whose log has what `data.mdb` has not and nobody is about to commit: its
    /// daemon died, and has not been started since.
    func requireCommitted() throws(StoreError) {
        let before = pending.commitCount
        for look in 0..<StoreLimits.commitIntervalMillisecondsMax {
            guard try hasUncommittedLog() else { return }
            // A writer that is at work sets the mark before it writes a record, clears it behind the
            // commit, and commits when it is asked.
            if pending.commitCount != before { return }
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
                "\(WriteAheadLog.fileName) has changes that are not committed; open the store once for writing, for example with blobd serve"
        )
    }

    /// Looks, a millisecond apart, at a log that is ahead without a mark. Beside a writer the commit
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

    /// What the log has, for a process that reads beside a writer or alone.
    ///
    /// A writer may commit, and begin the log again, between two looks: what is wrong with the log must be so
    /// three times, with no commit meanwhile. Throws ``StoreError/corrupt(_:)``, in the words of
    /// ``lostChanges(_:)``.
    func contents() throws(StoreError) -> LogContents {
        var failures = 0
        for _ in 0..<Self.looksAtBusyLog {
            let mark = pending.mark
            let (state, last) = try stateNow()
            guard let state else { return LogContents() }
            do throws(StoreError) {
                let contents = try WriteAheadLog.contents(
                    in: core.directory, state, behind: last, mark)
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
        let snapshot = try Snapshot(core, isKept: true)
        return (try snapshot.meta(), snapshot.transaction.id)
    }

    /// What is wrong with the log, and what it means.
    func lostChanges(_ reason: String, _ last: UInt64) -> String {
        let mark = pending.mark
        let lost =
            mark.transaction == last + 1
            ? "up to \(mark.changeCount) acknowledged changes may be missing"
            : "an unknown number of acknowledged changes may be missing"
        return
            "\(reason): \(lost). Restore the file, or start without it: blobd serve --discard-log (BlobStore.Options.discardsLog)"
    }
}
