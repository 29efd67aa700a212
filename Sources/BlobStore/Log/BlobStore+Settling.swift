internal import Glibc
internal import LMDB
internal import Synchronization

// Who opens a store for reading has all that was acknowledged before: where a daemon has something
// in its log alone, opening waits for its commit, once. In the daemon itself nobody waits: it asks
// `unsettled`, and lets its writer settle.

extension BlobStore {
    /// Whether the log has what `data.mdb` has not. All that was acknowledged before this is called
    /// is in one of them: the first record of a transaction takes the place of that of the last one,
    /// which is committed by then.
    private func hasUncommittedLog() throws(StoreError) -> Bool {
        let state = try logStateNow().state
        guard let state, state.isInUse,
            let log = try ChangeLog(directory, of: state.id, .reading),
            let transaction = try log.firstTransaction()
        else { return false }
        return transaction > (try logStateNow().last)
    }

    /// Refuses a store whose log has what `data.mdb` has not and nobody is about to commit: its
    /// daemon died, and has not been started since.
    func checkLog() throws(StoreError) {
        let before = unsettled.settleCount
        for look in 0..<StoreLimits.settlingMillisecondsMax {
            guard try hasUncommittedLog() else { return }
            // A writer that is at work sets the mark before it writes a record, clears it behind the
            // commit, and commits when it is asked.
            if unsettled.settleCount != before { return }
            if !unsettled.isEmpty {
                unsettled.hurry()
            } else if look >= Self.unmarkedLookCountMax {
                break
            }
            usleep(1_000)
        }
        throw .cannotOpen(
            path: directory,
            reason:
                "\(ChangeLog.fileName) has changes that are not committed; open the store once for writing, for example with blobd serve"
        )
    }

    /// Looks, a millisecond apart, at a log that is ahead without a mark. Beside a writer the commit
    /// is found by the second.
    private static let unmarkedLookCountMax = 100

    /// Refuses a store whose log is missing, or is not what `data.mdb` says.
    func refuseLostLog() throws(StoreError) {
        do throws(StoreError) {
            _ = try inspectLog()
        } catch {
            guard case .corrupt(let reason) = error else { throw error }
            throw .cannotOpen(path: directory, reason: reason)
        }
    }
}

extension Snapshot {
    /// Whether nothing was committed by this process since it was opened.
    package var isCurrent: Bool {
        @inline(__always)
        get {
            // Whoever made this snapshot keeps its store.
            unretainedStore._withUnsafeGuaranteedRef {
                transaction.viewedCommit >= $0.lastCommit.load(ordering: .acquiring)
            }
        }
    }
}
