/// What the commit of all that is pending may add to the file. A page is copied once, however many changes touch it.
/// What a batch does is reckoned with as if each of its changes were alone only until it is done.
struct PendingGrowth {
    /// Of the pages of new chunks.
    private var chunkByteCount = 0
    /// Pages of the other tables that entries are put into or removed from, at the most, and bytes of these entries.
    private var touchedPageCount = 0
    private var entryByteCount = 0
    /// Pages that the removal of chunks copies: a long one has its entry on a page of its own, perhaps.
    private var removedChunkPageCount = 0
    /// By which a batch that is not done yet may make the other tables longer, and what it may copy of them.
    private var expectedAddedByteCount = 0
    private var expectedCopiedByteCount = 0
    private var pageByteCount = 0
    private var pageScale = 1
    /// Bytes of the pages that changes may copy.
    var tableByteCount = 0
    /// Bytes of pages that what is frozen below may add between keys of a page that is counted once.
    private var splitByteCount = 0

    /// What a commit copies and adds by itself: the way to the end of the chunks, and that to the end
    /// of the free list, with a new entry.
    private static let commitByteCount = 48 << 10
    /// Of the pages of a chunk that is removed in the free list.
    private static let freedChunkByteCount = 17 * 8

    mutating func add(_ batch: BatchPlan) {
        pageScale = batch.pageScale
        pageByteCount = batch.pageByteCount
        chunkByteCount += batch.sharedChunkGrowth
        expectedAddedByteCount = batch.range.count * Change.addedByteCount * pageScale
        expectedCopiedByteCount = batch.bookkeepingGrowth - expectedAddedByteCount
    }

    /// The batch is done.
    mutating func settle(touchedPageCount: Int, entryByteCount: Int, removedChunkPageCount: Int) {
        self.removedChunkPageCount += removedChunkPageCount
        self.touchedPageCount += touchedPageCount
        self.entryByteCount += entryByteCount
        expectedAddedByteCount = 0
        expectedCopiedByteCount = 0
    }

    /// Up to all pages.
    private var touchedByteCount: Int {
        min(touchedPageCount * pageByteCount + expectedCopiedByteCount, tableByteCount)
    }

    /// Bytes by which the other tables become longer, at the most, if they have so many: each page that an entry comes
    /// into may be split.
    func added(toTablesOf byteCount: Int) -> Int {
        min(touchedPageCount * pageByteCount, byteCount) + 2 * entryByteCount
    }

    /// Nothing is pending yet over what is frozen, if anything is.
    mutating func begin(over frozen: PendingGrowth?, tableByteCount: Int?) {
        guard let tableByteCount else { return self.tableByteCount = .max }
        self.tableByteCount = tableByteCount + (frozen?.added(toTablesOf: tableByteCount) ?? 0)
        splitByteCount = 2 * (frozen?.entryByteCount ?? 0)
    }

    /// Bytes by which all tables become longer.
    var lastingByteCount: Int {
        chunkByteCount + touchedByteCount + 2 * entryByteCount + expectedAddedByteCount
    }

    /// Bytes of pages that are copied. The commit after the next one can use those that they replace.
    var copiedByteCount: Int {
        touchedByteCount + splitByteCount
            + removedChunkPageCount * (pageByteCount + Self.freedChunkByteCount)
            + Self.commitByteCount * pageScale
    }

    var total: Int { lastingByteCount + copiedByteCount }
}
