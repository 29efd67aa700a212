/// What the batches of one transaction may add to the file, together.
///
/// A page that is there is copied once in a transaction, whoever touches it again: so what many
/// changes copy is no more than there is to copy. What they add to the tables beside that is
/// reckoned with as if each were alone only until they are done; then the tables' own counts of
/// their pages tell, which is a tenth of it.
struct OpenGrowth {
    /// Of the pages of new chunks.
    private var chunkByteCount = 0
    /// By which the other tables have become longer, at the most.
    private var addedByteCount = 0
    /// What a batch that is not done yet may add to them.
    private var expectedByteCount = 0
    private var changeCount = 0
    /// Bytes of the pages that changes may copy.
    var tableByteCount = 0

    /// Adds a batch that is to be done.
    ///
    /// - Parameters:
    ///   - byteCount: of the pages that its changes may copy or add, but those of chunks.
    ///   - chunkByteCount: of the pages that its chunks take.
    mutating func add(_ byteCount: Int, chunkByteCount: Int, changeCount: Int) {
        expectedByteCount += byteCount - changeCount * Change.copiedByteCount
        self.chunkByteCount += chunkByteCount
        self.changeCount += changeCount
    }

    /// The batches are done, and the tables have so many bytes of pages now, but the chunks'.
    mutating func measure(tableByteCount now: Int) {
        // What they had meanwhile and have not any more was added, too.
        addedByteCount = max(addedByteCount, now - tableByteCount)
        expectedByteCount = 0
    }

    /// Bytes that all of it may add.
    var total: Int {
        let copied = min(changeCount * Change.copiedByteCount, tableByteCount)
        return chunkByteCount + addedByteCount + expectedByteCount + copied
    }
}
