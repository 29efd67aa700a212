internal import Bytes
internal import Glibc
internal import Synchronization

/// Where the keys of a memtable are, by their hashes: a lookup compares one key, and one of a key that is not there
/// nearly always none. Open addressing, at most half full; a slot has the key's address and, in the upper 16 bits, which
/// no address uses, as many of its hash. The writer alone adds. When there are too many it is copied to a longer one;
/// readers that found the old one go on in it, which has all that was there when they began.
struct MemtableKeys: ~Copyable {
    /// The address of the slots.
    private let current: Atomic<UInt>
    /// Drawn by lot, so that nobody can choose keys that collide; the same as in the memtable below.
    let seed: UInt64

    private static let slotCountMin: UInt = 512

    init() {
        current = Atomic(UInt(bitPattern: Slots(Self.slotCountMin, replacing: 0).start))
        seed = .random(in: .min ... .max)
    }

    /// Those of the memtable that follows: it is about as long, so that no batch waits until its keys are copied.
    init(following keys: borrowing MemtableKeys) {
        current = Atomic(UInt(bitPattern: Slots(keys.slots.mask + 1, replacing: 0).start))
        seed = keys.seed
    }

    deinit {
        var address = current.load(ordering: .relaxed)
        while let start = UnsafeMutableRawPointer(bitPattern: address) {
            address = Slots(address).replaced
            free(start)
        }
    }

    /// The writer's.
    var count: Int { Int(slots.count) }

    private var slots: Slots { Slots(current.load(ordering: .relaxed)) }

    func hash(_ key: RawSpan, _ table: UInt8) -> UInt64 {
        var hash = Self.mixed(seed ^ UInt64(table) << 32 ^ UInt64(key.byteCount))
        var offset = 0
        while offset + 8 <= key.byteCount {
            hash = Self.mixed(hash ^ key.word(offset))
            offset += 8
        }
        guard offset < key.byteCount else { return hash }
        var last: UInt64 = 0
        while offset < key.byteCount {
            last = last << 8 | UInt64(key.byte(offset))
            offset += 1
        }
        return Self.mixed(hash ^ last)
    }

    @inline(__always)
    private static func mixed(_ word: UInt64) -> UInt64 {
        let (high, low) = word.multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        return high ^ low
    }

    func find(_ key: RawSpan, in table: UInt8, _ hash: UInt64) -> MemtableKey? {
        let slots = Slots(current.load(ordering: .acquiring))
        var index = UInt(truncatingIfNeeded: hash) & slots.mask
        while true {
            let slot = slots[index].load(ordering: .acquiring)
            guard slot != 0 else { return nil }
            if UInt64(slot) >> 48 == hash >> 48 {
                let found = MemtableKey(slot & Slots.addressMask)
                if let found, found.table == table, found.key.equals(key) { return found }
            }
            index = (index + 1) & slots.mask
        }
    }

    /// Adds a key that is not there.
    func insert(_ key: MemtableKey, _ hash: UInt64) {
        precondition(key.address & ~Slots.addressMask == 0, "an address has 48 bits")
        var slots = slots
        if slots.count > slots.mask / 2 { slots = grow(slots) }
        slots.insert(key.address | UInt(hash >> 48) << 48, hash)
    }

    private func grow(_ slots: Slots) -> Slots {
        let longer = Slots(4 * (slots.mask + 1), replacing: UInt(bitPattern: slots.start))
        for index in 0...slots.mask {
            let slot = slots[index].load(ordering: .relaxed)
            guard let key = MemtableKey(slot & Slots.addressMask) else { continue }
            longer.insert(slot, hash(key.key, key.table))
        }
        current.store(UInt(bitPattern: longer.start), ordering: .releasing)
        return longer
    }

    /// In memory:
    ///
    ///     0   the number of slots less one
    ///     8   how many are used; the writer's
    ///     16  the slots that these replace; 0: none
    ///     24  the slots
    private struct Slots {
        static let addressMask: UInt = 1 << 48 - 1
        private static let headByteCount = 24

        let start: UnsafeMutableRawPointer
        let mask: UInt

        init(_ address: UInt) {
            start = UnsafeMutableRawPointer(bitPattern: address)!
            mask = start.load(as: UInt.self)
        }

        init(_ count: UInt, replacing replaced: UInt) {
            // Zeros are slots that are free.
            guard let memory = calloc(1, Self.headByteCount + Int(count) * 8) else {
                fatalError("no memory for the keys of a memtable")
            }
            (start, mask) = (memory, count - 1)
            start.storeBytes(of: mask, as: UInt.self)
            start.storeBytes(of: replaced, toByteOffset: 16, as: UInt.self)
        }

        var count: UInt { start.load(fromByteOffset: 8, as: UInt.self) }
        var replaced: UInt { start.load(fromByteOffset: 16, as: UInt.self) }

        subscript(_ index: UInt) -> Atomic<UInt> {
            unsafeAddress {
                UnsafePointer(
                    (start + Self.headByteCount).assumingMemoryBound(to: Atomic<UInt>.self)
                        + Int(index))
            }
        }

        func insert(_ slot: UInt, _ hash: UInt64) {
            var index = UInt(truncatingIfNeeded: hash) & mask
            while self[index].load(ordering: .relaxed) != 0 { index = (index + 1) & mask }
            self[index].store(slot, ordering: .releasing)
            start.storeBytes(of: count + 1, toByteOffset: 8, as: UInt.self)
        }
    }
}
