internal import LMDB

/// What the writer keeps between two batches of changes that are acknowledged and not committed
/// together yet. Used inside `BlobStore.writing` alone.
final class Settlement: @unchecked Sendable {
    // Sendable: whoever uses it holds `BlobStore.writing`, and LMDB's transaction, which belongs to
    // a thread, is made and ended by the one that called `BlobStore.beginLogging`.

    /// Where changes are written before they are acknowledged; nil: each batch is committed.
    var log: ChangeLog?
    /// The transaction that has what is in the log. It is open while there is something.
    var transaction: ChangeTransaction?
    /// What it may add to the file.
    var growth = OpenGrowth()
    /// How many of the owners that it touches are noted as unsettled.
    var notedOwnerCount = 0
    /// Whether somebody waits for the changes of an owner that it touches.
    var isAwaited = false

    /// Whether there are changes in the log that are not committed.
    var isPending: Bool { (log?.recordCount ?? 0) > 0 }
}
