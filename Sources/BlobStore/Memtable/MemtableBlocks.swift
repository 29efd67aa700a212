/// The memory that memtables are cut from. What a memtable gives back is kept for the next one, since new memory of the
/// system comes page by page, each zeroed: that took a third of the time of a commit of long payloads.
@safe final class MemtableBlocks: @unchecked Sendable {
    // Sendable: its users hold `CommitPipeline.writing`, or are the last that have the store.

    static let byteCount = 1 << 20
    /// Blocks that are kept.
    static let spareCountMax = 16

    private var spare: [UnsafeMutableRawPointer] = []
    private var isUsed = false

    deinit {
        for block in spare { block.deallocate() }
    }

    func take() -> UnsafeMutableRawPointer {
        isUsed = true
        return spare.popLast() ?? .allocate(byteCount: Self.byteCount, alignment: 16)
    }

    func giveBack(_ block: UnsafeMutableRawPointer) {
        guard spare.count < Self.spareCountMax else { return block.deallocate() }
        spare.append(block)
    }

    /// Gives what is kept to the system, unless some was taken since the last call.
    func trim() {
        if !isUsed {
            for block in spare { block.deallocate() }
            spare.removeAll()
        }
        isUsed = false
    }
}
