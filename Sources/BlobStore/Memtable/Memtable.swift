internal import Bytes
internal import Glibc
internal import LMDB
internal import Synchronization

/// What is acknowledged and not in `data.mdb` yet: the puts and deletes of the batches in the log, in memory, where
/// every reader of this process finds them. Changes are made in it: what a batch has put is seen by that batch alone
/// until it is published. One thread at a time adds; readers need no lock.
///
/// It is a skip list, ordered by table, then key, newest first. Nothing in it changes once it is published, so a reader
/// that knows how many operations were acknowledged when it began (``MemtableView``) sees just those, and values are
/// read in place. It is made for one commit, its base, and is of no use to a view of a later one, which has all of it.
/// While it is written to `data.mdb`, frozen, the changes that follow come into the next one, which lies over it.
@safe final class Memtable: @unchecked Sendable {
    // Sendable: all that changes it is called under `CommitPipeline.writing`. What readers follow, the links and the
    // numbers, is atomic; a link is written once its entry is complete. So nothing is checked for exclusive access.

    /// The address of ``MemtableHead``, by which readers find it. Valid as long as this.
    let address: UInt

    private var head: UnsafeMutablePointer<MemtableHead> {
        UnsafeMutablePointer(bitPattern: address)!
    }
    /// Memory that entries are cut from, and how much of the last block is used.
    @exclusivity(unchecked) private var blocks: [UnsafeMutableRawPointer] = []
    @exclusivity(unchecked) private var usedByteCount = 0
    /// Memory of entries that are longer than a block.
    @exclusivity(unchecked) private var longEntries: [UnsafeMutableRawPointer] = []
    private let memory: MemtableBlocks
    /// Bytes of all entries.
    @exclusivity(unchecked) private(set) var byteCount = 0
    /// The number of the last operation that was added.
    @exclusivity(unchecked) private(set) var operationCount: UInt64 = 0
    /// The entries that were added since the last publishing, in their order.
    @exclusivity(unchecked) private var unpublished: [MemtableEntry] = []
    /// The second parts of values that are not copied, by the addresses of their entries.
    @exclusivity(unchecked) private var references: [UInt: ArraySlice<UInt8>] = [:]
    @exclusivity(unchecked) private var places = InlineArray<8, InsertionPlace>(
        repeating: InsertionPlace())
    @exclusivity(unchecked) private var random: UInt64 = 0x9E37_79B9_7F4A_7C15

    /// - Parameters:
    ///   - base: the commit that the first batch is on top of.
    ///   - older: what that commit is being made of; nil: it is there.
    init(base: UInt64, over older: Memtable? = nil, memory: MemtableBlocks = MemtableBlocks()) {
        self.memory = memory
        let head = UnsafeMutablePointer<MemtableHead>.allocate(capacity: 1)
        head.initialize(to: MemtableHead(base: base, older: older?.address ?? 0))
        address = UInt(bitPattern: head)
    }

    /// Nobody may read it any more.
    deinit {
        for block in blocks { memory.giveBack(block) }
        for entry in longEntries { entry.deallocate() }
        head.deinitialize(count: 1)
        head.deallocate()
    }

    /// Adds a put, whose value is `first` and then `second`. Both are copied.
    func put(_ key: RawSpan, _ first: RawSpan, _ second: RawSpan = RawSpan(), in table: UInt8) {
        let entry = allocate(key, first.byteCount + second.byteCount, in: table)
        first.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress { memcpy(entry.value, start, bytes.count) }
        }
        second.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress {
                memcpy(entry.value + first.byteCount, start, bytes.count)
            }
        }
        link(entry)
    }

    /// Adds a put, whose value is `first` and then `second`, which is kept, and not copied. It must be committed or
    /// taken back, and not be published: of such a value a view finds `first` alone.
    func put(_ key: RawSpan, _ first: RawSpan, keeping second: ArraySlice<UInt8>, in table: UInt8) {
        let entry = allocate(key, first.byteCount, in: table)
        first.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress { memcpy(entry.value, start, bytes.count) }
        }
        references[entry.address] = second
        link(entry)
    }

    /// What follows the bytes that an entry has; nil: nothing.
    func reference(of entry: MemtableEntry) -> ArraySlice<UInt8>? {
        references.isEmpty ? nil : references[entry.address]
    }

    /// All that it has is committed.
    func dropReferences() { references = [:] }

    /// Adds a delete.
    func delete(_ key: RawSpan, in table: UInt8) {
        link(allocate(key, MemtableEntry.deleted, in: table))
    }

    /// Lets readers see everything added so far.
    func publish() {
        precondition(references.isEmpty, "a value that readers see is in memory as a whole")
        unpublished.removeAll(keepingCapacity: true)
        head.pointee.published.store(operationCount, ordering: .releasing)
    }

    /// Takes back what was added after the operation `number`, and was not published. The entries stay where they are,
    /// since a reader may be on its way along them, and nobody sees them from now on.
    func rollBack(to number: UInt64) {
        while let last = unpublished.last, last.number > number {
            last.takeBack()
            if !references.isEmpty { references[last.address] = nil }
            unpublished.removeLast()
        }
    }

    /// The commit that it is on top of.
    var base: UInt64 { head.pointee.base }

    func isPublished(_ entry: MemtableEntry) -> Bool {
        entry.number <= head.pointee.published.load(ordering: .relaxed)
    }

    /// Whether it has something that is not taken back.
    var isEmpty: Bool {
        unpublished.isEmpty && head.pointee.published.load(ordering: .relaxed) == 0
    }

    /// What the writer sees: also what is not published.
    var ownList: MemtableList {
        MemtableList(address: address, operationCount: MemtableEntry.takenBack - 1)
    }

    private func allocate(_ key: RawSpan, _ length: Int, in table: UInt8) -> MemtableEntry {
        operationCount += 1
        let height = randomHeight()
        let size = MemtableEntry.byteCount(
            height: height, keyByteCount: key.byteCount, length: length)
        let entry = MemtableEntry(take(size))
        head.pointee.filter.insert(key, in: table)
        entry.fill(
            number: operationCount, length: length, table: table, height: height, key: key)
        unpublished.append(entry)
        return entry
    }

    private func take(_ size: Int) -> UnsafeMutableRawPointer {
        byteCount += size
        guard size <= MemtableBlocks.byteCount else {
            let entry = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
            longEntries.append(entry)
            return entry
        }
        if blocks.isEmpty || usedByteCount + size > MemtableBlocks.byteCount {
            blocks.append(memory.take())
            usedByteCount = 0
        }
        defer { usedByteCount += size }
        return blocks[blocks.count - 1] + usedByteCount
    }

    /// One in four entries stands in each further level.
    private func randomHeight() -> Int {
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        return min(MemtableHead.heightMax, 1 + random.trailingZeroBitCount / 2)
    }

    /// Puts an entry into all of its levels, from the lowest on: who finds it in a higher one finds it below, too.
    /// Many keys come after the last one of their table: the way there is remembered.
    private func link(_ entry: MemtableEntry) {
        let index = Int(entry.table) % places.count
        var place = places[index]
        if let last = MemtableEntry(place.last),
            last.table != entry.table || last.key.order(to: entry.key) >= 0
        {
            place = InsertionPlace()
        }
        ownList.findBefore(entry.table, entry.key, entry.number, &place.before)
        for level in 0..<entry.height {
            let links = ownList.links(of: place.before[level])
            entry.links[level].store(links[level].load(ordering: .relaxed), ordering: .relaxed)
            links[level].store(entry.address, ordering: .releasing)
            place.before[level] = entry.address
        }
        place.last = entry.address
        places[index] = place
    }

    /// Where an entry was put last, and the last entry of each level up to it; 0: none, which is the head.
    private struct InsertionPlace {
        var last: UInt = 0
        var before = InlineArray<12, UInt>(repeating: 0)
    }
}

/// Where a memtable begins.
struct MemtableHead: ~Copyable {
    static let heightMax = 12

    /// The commit that it is on top of.
    let base: UInt64
    /// The memtable that this commit is being made of; 0: it was there.
    let older: UInt
    /// The operations up to this number are acknowledged.
    let published = Atomic<UInt64>(0)
    /// The first entry of each level; 0: none.
    let links: UnsafeMutablePointer<Atomic<UInt>>
    let filter = KeyFilter()

    init(base: UInt64, older: UInt) {
        self.base = base
        self.older = older
        links = .allocate(capacity: Self.heightMax)
        for level in 0..<Self.heightMax { (links + level).initialize(to: Atomic(0)) }
    }

    deinit { links.deallocate() }
}

/// An entry in the memory of a memtable:
///
///     0   number of the operation
///     8   bytes of the value, or `deleted`
///     16  bytes of the key, 16 bits; table; height
///     24  a link for each level, then the key, then the value at a multiple of 8
struct MemtableEntry {
    static let deleted = -1
    /// The number of one that no view has.
    static let takenBack = UInt64.max
    private static let linksOffset = 24

    let start: UnsafeMutableRawPointer

    init(_ start: UnsafeMutableRawPointer) { self.start = start }

    @inline(__always)
    init?(_ address: UInt) {
        guard let start = UnsafeMutableRawPointer(bitPattern: address) else { return nil }
        self.start = start
    }

    var address: UInt { UInt(bitPattern: start) }
    var number: UInt64 { order.pointee.load(ordering: .relaxed) }
    /// Bytes of the value, or ``deleted``.
    var length: Int { start.load(fromByteOffset: 8, as: Int.self) }
    var keyByteCount: Int { Int(start.load(fromByteOffset: 16, as: UInt16.self)) }
    var table: UInt8 { start.load(fromByteOffset: 18, as: UInt8.self) }
    var height: Int { Int(start.load(fromByteOffset: 19, as: UInt8.self)) }

    private var order: UnsafeMutablePointer<Atomic<UInt64>> {
        start.assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    /// Has it seen by nobody. Of a key's entries the newest are taken back, so their order stays right.
    func takeBack() { order.pointee.store(Self.takenBack, ordering: .relaxed) }

    var links: UnsafeMutablePointer<Atomic<UInt>> {
        (start + Self.linksOffset).assumingMemoryBound(to: Atomic<UInt>.self)
    }

    private var keyStart: UnsafeMutableRawPointer { start + Self.linksOffset + height * 8 }

    /// Good as long as the memtable is.
    var key: RawSpan {
        @_lifetime(immortal)
        get {
            let span = RawSpan(_unsafeStart: keyStart, byteCount: keyByteCount)
            return _overrideLifetime(span, copying: ())
        }
    }

    /// The value of a put. Good as long as the memtable is.
    var bytes: RawSpan {
        @_lifetime(immortal)
        get {
            let span = RawSpan(_unsafeStart: value, byteCount: max(0, length))
            return _overrideLifetime(span, copying: ())
        }
    }

    var value: UnsafeMutableRawPointer {
        start + (Self.linksOffset + height * 8 + keyByteCount + 7) / 8 * 8
    }

    static func byteCount(height: Int, keyByteCount: Int, length: Int) -> Int {
        let value = (linksOffset + height * 8 + keyByteCount + 7) / 8 * 8
        return (value + max(0, length) + 7) / 8 * 8
    }

    func fill(number: UInt64, length: Int, table: UInt8, height: Int, key: RawSpan) {
        order.initialize(to: Atomic(number))
        start.storeBytes(of: length, toByteOffset: 8, as: Int.self)
        start.storeBytes(of: UInt16(key.byteCount), toByteOffset: 16, as: UInt16.self)
        start.storeBytes(of: table, toByteOffset: 18, as: UInt8.self)
        start.storeBytes(of: UInt8(height), toByteOffset: 19, as: UInt8.self)
        for level in 0..<height { (links + level).initialize(to: Atomic(0)) }
        key.withUnsafeBytes { bytes in
            if let first = bytes.baseAddress { memcpy(keyStart, first, bytes.count) }
        }
    }
}
