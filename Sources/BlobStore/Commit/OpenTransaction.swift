internal import LMDB

/// What the pipeline keeps between two batches that share a commit: the open transaction, and the log
/// that has what was done in it. Used inside `CommitPipeline.writing` alone.
final class OpenTransaction: @unchecked Sendable {
    // Sendable: its user holds `CommitPipeline.writing`, and LMDB's transaction, which belongs
    // to a thread, is made and ended by the one that called `BlobStore.beginLogging`.

    /// Where batches are written before they are acknowledged; nil: each batch is committed.
    var log: WriteAheadLog?
    /// The transaction that has what is in the log. It is open while there is something.
    var transaction: ChangeTransaction?
    var growth = OpenGrowth()
    /// Stored bytes of the batches whose long values are in pages, and not in the log.
    var placedByteCount = 0
    /// How many of the owners that it touches are noted as pending.
    var notedOwnerCount = 0
    /// Whether somebody waits for the changes of an owner that it touches.
    var isAwaited = false

    /// Whether there are changes in the log that are not committed.
    var isPending: Bool { (log?.recordCount ?? 0) > 0 }

    var pendingBatches: PendingBatches {
        var batches = PendingBatches()
        batches.isPending = isPending
        batches.isAwaited = isAwaited
        batches.batchCount = Int(log?.recordCount ?? 0)
        batches.byteCount = log?.offset ?? 0
        return batches
    }

    /// All of it is committed: the log begins again at its start.
    func restart() {
        log?.restart()
        growth = OpenGrowth()
        placedByteCount = 0
        notedOwnerCount = 0
        isAwaited = false
    }
}

/// What is in the write-ahead log and not in `data.mdb`.
package struct PendingBatches: Sendable {
    package var isPending = false
    /// Whether it has changes of an owner that somebody waits for.
    package var isAwaited = false
    package var batchCount = 0
    /// Bytes of the log that they take.
    package var byteCount = 0

    package init() {}
}

extension ChangeTransaction {
    /// Writes what the store says of its log where that changes; commits and syncs.
    consuming func commit(noting state: LogState?) throws(LMDBError) {
        if let state { try transaction.put(state, in: tables.meta) }
        try commit()
    }
}
