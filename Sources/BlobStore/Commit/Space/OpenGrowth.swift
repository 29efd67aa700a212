/// What the batches of one transaction may add to the file, together.
///
/// A page is copied once in a transaction, however many changes touch it. So what many changes
/// copy is no more than there is to copy. What they add to the tables beside that is
/// reckoned with as if each were alone only until they are done; then the tables' own counts of
/// their pages tell, which is a tenth of it.
struct OpenGrowth {
    /// Of the pages of new chunks.
    private var chunkByteCount = 0
    /// Of the pages of the other tables that changes may have copied, as if each were alone.
    private var touchedByteCount = 0
    /// By which the other tables have become longer, at the most.
    private var addedByteCount = 0
    /// By which a batch that is not done yet may make them longer.
    private var expectedByteCount = 0
    /// How many times longer the pages are than those that all this is reckoned in.
    private var pageScale = 1
    /// Bytes of the pages that changes may copy.
    var tableByteCount = 0

    /// What a commit copies and adds by itself: the way to the end of the chunks, and that to the end
    /// of the free list, with a new entry.
    private static let commitByteCount = 48 << 10

    mutating func add(_ batch: BatchPlan) {
        pageScale = batch.pageScale
        let added = batch.range.count * Change.addedByteCount * pageScale
        touchedByteCount += batch.bookkeepingGrowth - added
        expectedByteCount += added
        chunkByteCount += batch.sharedChunkGrowth
    }

    /// The batches are done, and the tables have so many bytes of pages now, but the chunks'.
    mutating func measure(tableByteCount now: Int) {
        // What they had meanwhile and have not any more was added, too.
        addedByteCount = max(addedByteCount, now - tableByteCount)
        expectedByteCount = 0
    }

    /// Bytes by which the tables become longer, about.
    var lastingByteCount: Int { chunkByteCount + addedByteCount + expectedByteCount }

    /// Bytes of pages that are copied. The commit after the next one can use those that they replace.
    var copiedByteCount: Int {
        min(touchedByteCount, tableByteCount) + Self.commitByteCount * pageScale
    }

    var total: Int { lastingByteCount + copiedByteCount }
}
