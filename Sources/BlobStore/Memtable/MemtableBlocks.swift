internal import Synchronization

/// The memory that memtables are cut from. What a memtable gives back is kept for the next one, since new memory of the
/// system comes page by page, each zeroed: that took a third of the time of a commit of long payloads.
@safe final class MemtableBlocks: Sendable {
    static let byteCount = 1 << 20
    /// Blocks that are kept.
    static let spareCountMax = 16

    private struct Spare {
        /// Addresses.
        var blocks: [UInt] = []
        var isUsed = false
    }

    /// The last reference to a memtable may be the one of the thread that has committed it.
    private let spare = Mutex(Spare())

    deinit { free(spare.withLock { $0.blocks }) }

    func take() -> UnsafeMutableRawPointer {
        let block = spare.withLock { spare in
            spare.isUsed = true
            return spare.blocks.popLast()
        }
        return block.flatMap { UnsafeMutableRawPointer(bitPattern: $0) }
            ?? .allocate(byteCount: Self.byteCount, alignment: 16)
    }

    func giveBack(_ block: UnsafeMutableRawPointer) {
        let isKept = spare.withLock { spare in
            guard spare.blocks.count < Self.spareCountMax else { return false }
            spare.blocks.append(UInt(bitPattern: block))
            return true
        }
        if !isKept { block.deallocate() }
    }

    /// Gives what is kept to the system, unless some was taken since the last call.
    func trim() {
        free(
            spare.withLock { spare in
                defer { spare.isUsed = false }
                guard !spare.isUsed else { return [] }
                defer { spare.blocks = [] }
                return spare.blocks
            })
    }

    private func free(_ blocks: [UInt]) {
        for block in blocks { UnsafeMutableRawPointer(bitPattern: block)?.deallocate() }
    }
}
