internal import Synchronization

/// Which numbered things had their checksum computed since the store was opened: chunks by ordinal,
/// records by revision.
///
/// It is a fixed table of 64-bit words, each with the flags of 32 neighbouring numbers and a tag
/// that says which 32. Neighbours are written and read together, so a word serves many; numbers
/// that share a place push each other out and are checked again. No locks, no growth.
final class VerifiedSet: Sendable {
    private let words: AtomicWords
    private static let flagBits: UInt64 = 5

    init() {
        words = AtomicWords(count: 1 << 17)
    }

    /// How many numbers it can remember at the most.
    var capacity: Int { words.count << Int(Self.flagBits) }

    @inline(__always)
    func contains(_ number: UInt64) -> Bool {
        let (index, tag, flag) = place(number)
        let word = words.load(index)
        return word >> 32 == tag && word & flag != 0
    }

    func insert(_ number: UInt64) {
        let (index, tag, flag) = place(number)
        let old = words.load(index)
        let new = (old >> 32 == tag ? old : tag << 32) | flag
        // When another thread was quicker its flag stands; ours is set the next time.
        words.exchange(index, expected: old, desired: new)
    }

    @inline(__always)
    private func place(_ number: UInt64) -> (index: Int, tag: UInt64, flag: UInt64) {
        let group = number >> Self.flagBits
        let index = Int(truncatingIfNeeded: group) & (words.count - 1)
        // Tag 0 is an empty word's: 1 is added. Numbers are far below 2^53, so the tag fits its 32
        // bits.
        let tag = (group >> UInt64(words.count.trailingZeroBitCount)) &+ 1
        return (index, tag & 0xFFFF_FFFF, 1 << (number & 31))
    }
}

/// A fixed array of atomic words.
final class AtomicWords: @unchecked Sendable {
    // Sendable: the pointer never changes, and what it points to is atomic.
    private let start: UnsafeMutablePointer<Atomic<UInt64>>
    let count: Int

    /// `count` zeros; a power of two.
    init(count: Int) {
        precondition(count > 0 && count & (count - 1) == 0)
        self.count = count
        start = .allocate(capacity: count)
        for index in 0..<count { (start + index).initialize(to: Atomic(0)) }
    }

    deinit {
        start.deinitialize(count: count)
        start.deallocate()
    }

    // An index is masked with `count - 1` by the caller, so it is inside the allocation.
    @inline(__always)
    func load(_ index: Int) -> UInt64 { start[index].load(ordering: .relaxed) }

    func exchange(_ index: Int, expected: UInt64, desired: UInt64) {
        _ = start[index].compareExchange(
            expected: expected, desired: desired, ordering: .relaxed)
    }
}
