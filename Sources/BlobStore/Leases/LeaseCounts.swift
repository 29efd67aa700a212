/// How many leases each blob has: open addressing with linear probing. A dictionary, whose hashing resists who
/// chooses the keys, took a seventh of the fetch of linked pages; the store chooses blob numbers.
struct LeaseCounts: ~Copyable {
    private struct Slot {
        var number: UInt64 = 0
        /// 0: the slot is free.
        var count = 0
    }

    // Allocated and freed here and handed to nobody. `capacity` slots, all of them initialised, of
    // which at least half are free; a power of two.
    private var slots: UnsafeMutablePointer<Slot>
    private var capacity: Int
    private var used = 0

    init() { (slots, capacity) = (Self.free(64), 64) }

    deinit { slots.deallocate() }

    private static func free(_ capacity: Int) -> UnsafeMutablePointer<Slot> {
        let slots = UnsafeMutablePointer<Slot>.allocate(capacity: capacity)
        slots.initialize(repeating: Slot(), count: capacity)
        return slots
    }

    var total: Int {
        var total = 0
        for index in 0..<capacity { total += slots[index].count }
        return total
    }

    func contains(_ number: UInt64) -> Bool { slots[index(of: number)].count > 0 }

    mutating func add(_ number: UInt64) {
        let index = index(of: number)
        if slots[index].count == 0 {
            slots[index].number = number
            used += 1
        }
        slots[index].count += 1
        if 2 * used > capacity { grow() }
    }

    /// Counts one less; nothing when there is none.
    mutating func remove(_ number: UInt64) {
        let index = index(of: number)
        guard slots[index].count > 0 else { return }
        slots[index].count -= 1
        if slots[index].count == 0 { close(index) }
    }

    /// Where a number is, or the free slot where it would be. There is always a free one.
    @inline(__always)
    private func index(of number: UInt64) -> Int {
        var index = home(of: number)
        while slots[index].count > 0, slots[index].number != number {
            index = (index &+ 1) & (capacity &- 1)
        }
        return index
    }

    /// Where to begin to look. Fibonacci hashing: neighbouring numbers lie far apart.
    @inline(__always)
    private func home(of number: UInt64) -> Int {
        let hash = number &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: hash >> 32) & (capacity &- 1)
    }

    /// Moves what was pushed on by the slot that has become free back towards its home.
    private mutating func close(_ freed: Int) {
        used -= 1
        var hole = freed
        var index = freed
        while true {
            index = (index &+ 1) & (capacity &- 1)
            guard slots[index].count > 0 else { break }
            // Its home is not after the hole: looked for from there, the hole would hide it.
            let distance = (index &- home(of: slots[index].number)) & (capacity &- 1)
            guard distance >= (index &- hole) & (capacity &- 1) else { continue }
            slots[hole] = slots[index]
            hole = index
        }
        slots[hole] = Slot()
    }

    private mutating func grow() {
        let (old, count) = (slots, capacity)
        capacity *= 2
        slots = Self.free(capacity)
        for index in 0..<count where old[index].count > 0 {
            slots[self.index(of: old[index].number)] = old[index]
        }
        old.deallocate()
    }
}
