/// What is acknowledged and not committed, as the writer knows it. Used inside `CommitPipeline.writing`.
final class Uncommitted: @unchecked Sendable {
    // Sendable: its user holds `CommitPipeline.writing`.

    /// Where batches are written before they are acknowledged; nil: each batch is committed.
    var log: WriteAheadLog?
    /// Whether there is to be a log, where there is room for one.
    var wantsLog = false
    var growth = PendingGrowth()
    /// What is being committed, apart from all that this says besides.
    var frozen: FrozenChanges?
    /// Whether there was no room for the last commit of what is pending: another one is tried now and then, and not
    /// for each batch.
    var isStuck = false
    /// Who is told that there is something to commit; nil: nobody, and what is pending is committed in the writer's way.
    var onPending: (@Sendable (PendingBatches) -> Void)?

    /// Whether there are changes in the log that are neither committed nor frozen.
    var isPending: Bool { (log?.recordCount ?? 0) > 0 }

    var batches: PendingBatches {
        var batches = PendingBatches()
        batches.batchCount = Int((log?.recordCount ?? 0) + (frozen?.recordCount ?? 0))
        batches.byteCount = (log?.byteCount ?? 0) + (frozen?.logByteCount ?? 0)
        return batches
    }
}

/// What is acknowledged and is being committed, while changes go on.
final class FrozenChanges: @unchecked Sendable {
    // Sendable: what is not constant is used inside `StoreCore.tree`.

    let memtable: Memtable
    /// What `data.mdb` says of the log from its commit on.
    let state: LogState
    let growth: PendingGrowth
    let recordCount: UInt32
    let logByteCount: Int
    /// How it went; nil: it was not tried, or can be tried again.
    var result: Result<Void, StoreError>?

    init(_ memtable: Memtable, _ log: WriteAheadLog, _ growth: PendingGrowth) {
        self.memtable = memtable
        self.growth = growth
        state = log.stateOnceCommitted
        recordCount = log.recordCount
        logByteCount = log.byteCount
    }

    var transaction: UInt64 { memtable.base + 1 }
}

/// What is in the write-ahead log and not in `data.mdb`.
package struct PendingBatches: Sendable {
    package var batchCount = 0
    /// Bytes of the log that they take.
    package var byteCount = 0
    /// Whether there is so much that its commit should not wait.
    package var isMuch = false

    package init() {}

    package var isPending: Bool { batchCount > 0 }
}
