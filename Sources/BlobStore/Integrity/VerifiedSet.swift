internal import Synchronization

/// Which numbered things had their checksum computed since the store was opened: chunks by ordinal, records by
/// revision. A fixed table of 64-bit words, each with the flags of 32 neighbouring numbers and a tag that says
/// which 32. Numbers that share a slot push each other out and are checked again.
final class VerifiedSet: @unchecked Sendable {
    // Sendable: the pointer never changes, and what it points to is atomic.
    private let words: UnsafeMutablePointer<Atomic<UInt64>>
    private static let wordBits: UInt64 = 17
    private static let wordCount = 1 << Int(wordBits)
    private static let flagBits: UInt64 = 5

    init() {
        words = .allocate(capacity: Self.wordCount)
        for index in 0..<Self.wordCount { (words + index).initialize(to: Atomic(0)) }
    }

    deinit {
        words.deinitialize(count: Self.wordCount)
        words.deallocate()
    }

    var capacity: Int { Self.wordCount << Int(Self.flagBits) }

    @inline(__always)
    func contains(_ number: UInt64) -> Bool {
        let (index, tag, flag) = Self.slot(number)
        let word = words[index].load(ordering: .relaxed)
        return word >> 32 == tag && word & flag != 0
    }

    func insert(_ number: UInt64) {
        let (index, tag, flag) = Self.slot(number)
        let old = words[index].load(ordering: .relaxed)
        let new = (old >> 32 == tag ? old : tag << 32) | flag
        // When another thread was quicker its flag stands; ours is set the next time.
        _ = words[index].compareExchange(expected: old, desired: new, ordering: .relaxed)
    }

    /// Forgets a number, however many threads insert others meanwhile.
    func remove(_ number: UInt64) {
        let (index, tag, flag) = Self.slot(number)
        while true {
            let old = words[index].load(ordering: .relaxed)
            guard old >> 32 == tag, old & flag != 0 else { return }
            let (isDone, _) = words[index].compareExchange(
                expected: old, desired: old & ~flag, ordering: .relaxed)
            if isDone { return }
        }
    }

    /// The index is masked, so it is inside the allocation.
    @inline(__always)
    private static func slot(_ number: UInt64) -> (index: Int, tag: UInt64, flag: UInt64) {
        let group = number >> flagBits
        let index = Int(truncatingIfNeeded: group) & (wordCount - 1)
        // Tag 0 is an empty word's: 1 is added. No two numbers agree in their lower 53 bits: what
        // stands above says how a blob is cut, and one counter gives them all.
        let tag = (group >> wordBits) &+ 1
        return (index, tag & 0xFFFF_FFFF, 1 << (number & 31))
    }
}
