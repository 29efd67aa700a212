/// What the batches of one transaction may add to the file, together.
///
/// A page that is there is copied once in a transaction, whoever touches it again: so what many
/// changes copy is no more than there is to copy.
struct OpenGrowth {
    /// As if each change were alone.
    private var byteCount = 0
    private var changeCount = 0
    /// Bytes of the pages that changes may copy.
    var tableByteCount = 0

    /// Adds a batch.
    mutating func add(_ byteCount: Int, changeCount: Int) {
        self.byteCount += byteCount
        self.changeCount += changeCount
    }

    /// Bytes that all of it may add.
    var total: Int {
        let copied = changeCount * Change.copiedByteCount
        return byteCount - copied + min(copied, tableByteCount)
    }
}
