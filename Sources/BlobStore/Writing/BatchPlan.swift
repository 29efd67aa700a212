/// Changes that share a transaction, and what they may cost it.
struct BatchPlan {
    /// Which they are.
    var range: Range<Int>
    /// Bytes of the pages that they may copy or add, but those of chunks, each as if it were alone.
    var bookkeepingGrowth = 0
    /// Bytes of the pages that their chunks take, each as if it were alone.
    var chunkGrowth = 0
    /// The same in a transaction with many others.
    var sharedChunkGrowth = 0
    /// Stored bytes of their payloads.
    var byteCount = 0

    /// The bytes by which they may make the file grow.
    var growth: Int { bookkeepingGrowth + chunkGrowth }
}
