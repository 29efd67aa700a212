internal import LMDB
internal import Synchronization

/// Changes that share a transaction, and what they may cost it.
struct BatchPlan {
    var range: Range<Int>
    /// Puts that they may take.
    var putCount = 0
    /// Bytes of the pages that they may copy or add, but those of chunks, each as if it were alone.
    var bookkeepingGrowth = 0
    /// Bytes of the pages that their chunks take, each as if it were alone.
    private(set) var chunkGrowth = 0
    /// What chunks add when they are put one after the other, as they are.
    private(set) var sharedChunkGrowth = 0
    var byteCount = 0

    /// How long the pages are of the store that it is for.
    let pageByteCount: Int
    /// What is left of the page that the last chunk's entry is in.
    private var pageRest = 0

    init(from start: Int, pageByteCount: Int) {
        range = start..<start
        self.pageByteCount = pageByteCount
    }

    /// One change that may copy and add pages of so many bytes.
    init(growth: Int, _ core: StoreCore) {
        self.init(from: 0, pageByteCount: core.environment.pageByteCount)
        range = 0..<1
        bookkeepingGrowth = growth + Change.addedByteCount * pageScale
    }

    /// The batch of `changes` that begins at `start`: up to the limits of a transaction, or to a change that is
    /// written ahead. A blob that is stored, or comes twice, adds its bytes once or not at all.
    init(of changes: [CheckedChange], from start: Int, countMax: Int = .max, _ core: StoreCore) {
        self.init(from: start, pageByteCount: core.environment.pageByteCount)
        var digests: Set<Digest> = []
        var index = start
        let isShipped = core.replication.capturesChanges.load(ordering: .relaxed)
        // Through the span, which copies no change to look at it.
        let span = changes.span
        while index < span.count, index - start < countMax, !span[index].change.isStaged {
            var next = self
            next.addBookkeeping(of: span[index].change)
            if isShipped { next.addOutbox(of: span[index].change) }
            span[index].change.forEachPayload { payload in
                next.byteCount += payload.storedByteCount
                // Short ones are not worth a lookup. Where too many snapshots are open for one, a blob
                // counts as new.
                if payload.storedByteCount <= Change.bookkeepingByteCount
                    || (digests.insert(payload.digest).inserted
                        && (try? core.contains(payload.digest)) != true)
                {
                    next.addChunks(of: payload)
                }
            }
            if index > start,
                next.putCount > StoreLimits.transactionPutCountMax
                    || next.growth > StoreLimits.transactionByteCountMax
            {
                break
            }
            self = next
            index += 1
        }
        range = start..<index
    }

    /// Whether its payloads are so long that it is committed, and not logged: they would be written twice, while a
    /// commit has few pages besides.
    var isLong: Bool {
        byteCount > StoreLimits.loggedBatchByteCountMax
            && byteCount > range.count * StoreLimits.loggedPayloadByteCountMax
    }

    /// How many times longer they are than those that changes are reckoned in.
    var pageScale: Int { max(1, pageByteCount / Change.reckonedPageByteCount) }

    mutating func addBookkeeping(of change: Change) {
        let cost = change.bookkeepingCost
        putCount += cost.puts
        bookkeepingGrowth += cost.bytes * pageScale
    }

    /// Adds what a change may put among what waits to be shipped: its record once more, and entries.
    private mutating func addOutbox(of change: Change) {
        bookkeepingGrowth += change.bookkeepingCost.bytes / 2 * pageScale
    }

    var growth: Int { bookkeepingGrowth + chunkGrowth }

    /// Adds the chunks of a blob that is new. They have the highest keys: each goes after the one before it where
    /// it fits, and else begins a page. So pages are counted by doing the same.
    mutating func addChunks(of payload: PreparedPayload) {
        let chunkCount = payload.chunkCount
        putCount += chunkCount
        let alone = payload.chunkCost(pageByteCount: pageByteCount)
        let pageRoom = pageByteCount - Self.pageHeaderByteCount
        chunkGrowth += alone
        var entry = payload.storedByteCount + Self.chunkOverhead
        if chunkCount > 1 || entry > pageRoom / 2 {
            // Long ones have pages of their own, and entries that say where.
            sharedChunkGrowth += alone
            entry = chunkCount * (Self.chunkOverhead + 8)
        }
        if entry > pageRest {
            let pages = (entry + pageRoom - 1) / pageRoom
            sharedChunkGrowth += pages * pageByteCount
            pageRest = pages * pageRoom
        }
        pageRest -= entry
    }

    /// LMDB's header of a page. Of the entries in what is left, two of the longest must fit.
    private static let pageHeaderByteCount = 16
    /// What a short chunk takes besides its bytes.
    private static let chunkOverhead =
        StoreLimits.entryOverheadByteCount + ChunkKey.byteCount + ChunkLayout.checksumByteCount
}
