internal import LMDB
internal import Synchronization

// When batches are acknowledged by the log, and who commits what is in it.

extension CommitPipeline {
    /// See ``BlobStore/beginLogging()``.
    func beginLogging() throws(StoreError) {
        try whileWriting { () throws(StoreError) in
            uncommitted.wantsLog = true
            // The file is another log from here on, so `data.mdb` must not ask for the last one.
            try noteLogEnded()
            guard let log = try WriteAheadLog(core.directory, of: .random(), .creating) else {
                return
            }
            guard pending.clear() else { throw .full }
            try pending.sync()
            _ = try setLogState(log.id, isInUse: true) { (transaction) throws(StoreError) in
                try log.writeBegin(in: transaction.transaction.id)
            }
            uncommitted.log = log
        }
    }

    /// Whether there was no room for a log that is to be.
    var lacksLog: Bool {
        writing.withLock { _ in uncommitted.wantsLog && uncommitted.log == nil }
    }

    /// See ``BlobStore/resumeLogging()``.
    func resumeLogging() throws(StoreError) -> Bool {
        guard lacksLog, let disk = Disk(core.environment.dataDescriptor),
            disk.availableByteCount >= 2 * StoreLimits.logByteCount
        else { return false }
        do throws(StoreError) {
            try beginLogging()
            return true
        } catch {
            // A file may not be so long.
            guard case .full = error else { throw error }
            return false
        }
    }

    /// See ``BlobStore/endLogging()``.
    func endLogging() throws(StoreError) {
        try ignoringFull { () throws(StoreError) in
            try whileWriting(committing: false) { () throws(StoreError) in
                uncommitted.wantsLog = false
                try commitPending()
                guard let log = uncommitted.log else { return }
                let number = try setLogState(log.id, isInUse: false)
                uncommitted.log = nil
                try log.end(in: number)
            }
        }
    }

    /// See ``BlobStore/checkpoint()``.
    func checkpointOrCommit() throws(StoreError) {
        do throws(StoreError) {
            try checkpoint()
        } catch {
            guard case .full = error else { throw error }
            try whileWriting(committing: false) { () throws(StoreError) in try commitPending() }
        }
    }

    /// Calls `body` when something is to be committed: from the thread that changes, inside `writing`. It has
    /// ``checkpointOrCommit()`` called. nil: nobody does, and what is pending is committed when it is too much.
    func onPending(_ body: (@Sendable (PendingBatches) -> Void)?) {
        writing.withLock { _ in uncommitted.onPending = body }
    }
}
