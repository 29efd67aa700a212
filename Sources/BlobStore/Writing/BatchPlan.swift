/// Changes that share a transaction, and what they may cost it.
struct BatchPlan {
    /// Which they are.
    var range: Range<Int>
    /// Puts that they may take.
    var putCount = 0
    /// Bytes of the pages that they may copy or add, but those of chunks, each as if it were alone.
    var bookkeepingGrowth = 0
    /// Bytes of the pages that their chunks take, each as if it were alone.
    private(set) var chunkGrowth = 0
    /// The same when they are put one behind the other, as they are.
    private(set) var sharedChunkGrowth = 0
    /// Stored bytes of their payloads.
    var byteCount = 0

    /// What is left of the page that the last chunk's entry is in.
    private var pageRest = 0

    init(from start: Int) { range = start..<start }

    /// The bytes by which they may make the file grow.
    var growth: Int { bookkeepingGrowth + chunkGrowth }

    /// Adds the chunks of a blob that is new.
    ///
    /// New chunks have the highest keys: each goes behind the one before it where it fits, and else
    /// begins a page. So the pages are counted by doing the same, and no mix of lengths takes more.
    mutating func addChunks(of payload: PreparedPayload) {
        let chunkCount = payload.chunkCount
        putCount += chunkCount
        let alone = payload.chunkCost
        chunkGrowth += alone
        var entry = payload.storedByteCount + Self.entryOverhead
        if chunkCount > 1 || entry > Self.entryByteCountMax {
            // Long ones have pages of their own, and entries that say where.
            sharedChunkGrowth += alone
            entry = chunkCount * (Self.entryOverhead + 8)
        }
        if entry > pageRest {
            let pages = (entry + Self.pageRoom - 1) / Self.pageRoom
            sharedChunkGrowth += pages * Self.pageByteCount
            pageRest = pages * Self.pageRoom
        }
        pageRest -= entry
    }

    private static let pageByteCount = 4_096
    /// A page without LMDB's header.
    private static let pageRoom = pageByteCount - 16
    /// The longest entry that is in a page with others: two must fit.
    private static let entryByteCountMax = pageRoom / 2
    /// What a short chunk takes in its page beside its bytes: LMDB's pointer and head of a node, the
    /// key, the checksum, and the byte that makes it even.
    private static let entryOverhead =
        2 + 8 + ChunkKey.byteCount + ChunkLayout.checksumByteCount + 1
}
