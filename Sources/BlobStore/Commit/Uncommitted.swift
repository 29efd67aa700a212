/// What is acknowledged and not committed, as the writer knows it. Used inside `CommitPipeline.writing`.
final class Uncommitted: @unchecked Sendable {
    // Sendable: its user holds `CommitPipeline.writing`.

    /// Where batches are written before they are acknowledged; nil: each batch is committed.
    var log: WriteAheadLog?
    /// Whether there is to be a log, where there is room for one.
    var wantsLog = false
    var growth = PendingGrowth()
    /// Whether there was no room for the last commit of what is pending: another one is tried now and then, and not
    /// for each batch.
    var isStuck = false

    /// Whether there are changes in the log that are not committed.
    var isPending: Bool { (log?.recordCount ?? 0) > 0 }

    var batches: PendingBatches {
        var batches = PendingBatches()
        batches.isPending = isPending
        batches.batchCount = Int(log?.recordCount ?? 0)
        batches.byteCount = log?.offset ?? 0
        return batches
    }
}

/// What is in the write-ahead log and not in `data.mdb`.
package struct PendingBatches: Sendable {
    package var isPending = false
    package var batchCount = 0
    /// Bytes of the log that they take.
    package var byteCount = 0

    package init() {}
}
