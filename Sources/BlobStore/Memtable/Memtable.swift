internal import Bytes
internal import Glibc
internal import LMDB
internal import Synchronization

/// What is acknowledged and not in `data.mdb` yet: the puts and deletes of the batches in the log, in memory, where
/// every reader of this process finds them. Changes are made in it: what a batch has put is seen by that batch alone
/// until it is published. One thread at a time adds; readers need no lock.
///
/// Each key has its entries, newest first, stands in a skip list, ordered by table, then key, and is found by its hash.
/// Nothing in it changes once it is published, so a reader that knows how many operations were acknowledged when it
/// began (``MemtableView``) sees just those, and values are read in place. It is made for one commit, its base, and is of
/// no use to a view of a later one, which has all of it. While it is written to `data.mdb`, frozen, the changes that
/// follow come into the next one, which lies over it.
@safe final class Memtable: @unchecked Sendable {
    // Sendable: all that changes it is called under `CommitPipeline.writing`. What readers follow, the links and the
    // numbers, is atomic; a link is written once its entry is complete. So nothing is checked for exclusive access.

    /// The address of ``MemtableHead``, by which readers find it. Valid as long as this.
    let address: UInt

    fileprivate var head: UnsafeMutablePointer<MemtableHead> {
        UnsafeMutablePointer(bitPattern: address)!
    }
    /// Memory that entries are cut from, and how much of the last block is used.
    @exclusivity(unchecked) private var blocks: [UnsafeMutableRawPointer] = []
    @exclusivity(unchecked) private var usedByteCount = 0
    /// Memory of entries that are longer than a block.
    @exclusivity(unchecked) private var longEntries: [UnsafeMutableRawPointer] = []
    private let memory: MemtableBlocks
    /// Keys that are put into `data.mdb`, while that is done.
    let writtenCount = Atomic(0)
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
    /// Of the tree that it lies over.
    @exclusivity(unchecked) private var touchedPages = TouchedPages()

    /// - Parameters:
    ///   - base: the commit that the first batch is on top of.
    ///   - older: what that commit is being made of; nil: it is there.
    init(base: UInt64, over older: Memtable? = nil, memory: MemtableBlocks = MemtableBlocks()) {
        self.memory = memory
        let head = UnsafeMutablePointer<MemtableHead>.allocate(capacity: 1)
        head.initialize(to: MemtableHead(base: base, over: older))
        address = UInt(bitPattern: head)
    }

    /// Nobody may read it any more.
    deinit {
        for block in blocks { memory.giveBack(block) }
        for entry in longEntries { entry.deallocate() }
        head.deinitialize(count: 1)
        head.deallocate()
    }

    /// Adds a put, whose value is `first` and then `second`. Both are copied. Returns whether it is the first operation
    /// on the key.
    @discardableResult
    func put(
        _ key: RawSpan, _ first: RawSpan, _ second: RawSpan = RawSpan(), in table: UInt8
    ) -> Bool {
        add(key, first.byteCount + second.byteCount, in: table) { entry in
            Self.copy(first, to: entry.value)
            Self.copy(second, to: entry.value + first.byteCount)
        }
    }

    /// Adds a put, whose value is `first` and then `second`, which is kept, and not copied. It must be committed or
    /// taken back, and not be published: of such a value a view finds `first` alone.
    func put(_ key: RawSpan, _ first: RawSpan, keeping second: ArraySlice<UInt8>, in table: UInt8) {
        add(key, first.byteCount, in: table) { entry in
            Self.copy(first, to: entry.value)
            references[entry.address] = second
        }
    }

    private static func copy(_ span: RawSpan, to place: UnsafeMutableRawPointer) {
        span.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress { memcpy(place, start, bytes.count) }
        }
    }

    /// How much of it is put into `data.mdb`, of 1,000.
    var writtenShare: Int {
        let count = head.pointee.keys.count
        return count == 0 ? 0 : writtenCount.load(ordering: .relaxed) * 1_000 / count
    }

    /// What follows the bytes that an entry has; nil: nothing.
    func reference(of entry: MemtableEntry) -> ArraySlice<UInt8>? {
        references.isEmpty ? nil : references[entry.address]
    }

    /// All that it has is committed.
    func dropReferences() { references = [:] }

    /// Adds a delete. Returns whether it is the first operation on the key.
    @discardableResult
    func delete(_ key: RawSpan, in table: UInt8) -> Bool {
        add(key, MemtableEntry.deleted, in: table) { _ in () }
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
        touchedPages.forget()
    }

    /// Whether the page that a key comes into in the tree is counted already, among those that a commit may copy
    /// (``TouchedPages/find(_:kind:)``).
    func findTouchedPage(of key: RawSpan, kind: Int) -> TouchedPages.Answer {
        touchedPages.find(key, kind: kind)
    }

    /// Notes a page of the tree that a key is on. Returns whether it is counted already.
    func noteTouched(page: UInt) -> Bool { touchedPages.insert(page: page) }

    /// Notes the gap in the tree that a key is in; nil: there is no key of its table before or after it.
    func noteTouchedGap(after lower: [UInt8]?, before upper: [UInt8]?, kind: Int) {
        touchedPages.note(after: lower.map(copy), before: upper.map(copy), kind: kind)
    }

    /// A key that is not among those of the memtable.
    private func copy(_ key: [UInt8]) -> MemtableKey {
        let copy = MemtableKey(take(MemtableKey.byteCount(height: 0, keyByteCount: key.count)))
        copy.fill(table: 0, height: 0, key: key.span.bytes)
        return copy
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

    /// Adds an entry, whose value `fill` writes, before anybody sees it. Returns whether it is the first one of its key
    /// that is not taken back.
    @inline(__always)
    @discardableResult
    private func add(
        _ key: RawSpan, _ length: Int, in table: UInt8, _ fill: (MemtableEntry) -> Void
    ) -> Bool {
        operationCount += 1
        var isFirst = true
        let size = MemtableEntry.headByteCount + (max(0, length) + 7) / 8 * 8
        let hash = head.pointee.keys.hash(key, table)
        let entry: MemtableEntry
        if let found = head.pointee.keys.find(key, in: table, hash) {
            let older = found.entry(upTo: MemtableEntry.takenBack - 1)
            isFirst = older == nil
            entry = MemtableEntry(take(size))
            entry.fill(number: operationCount, length: length, of: found, over: older)
            fill(entry)
            found.newest.pointee.store(entry.address, ordering: .releasing)
        } else {
            let height = randomHeight()
            let keySize = MemtableKey.byteCount(height: height, keyByteCount: key.byteCount)
            let node = MemtableKey(take(keySize + size))
            node.fill(table: table, height: height, key: key)
            entry = MemtableEntry(node.start + keySize)
            entry.fill(number: operationCount, length: length, of: node, over: nil)
            fill(entry)
            node.newest.pointee.store(entry.address, ordering: .releasing)
            link(node)
            head.pointee.keys.insert(node, hash)
        }
        unpublished.append(entry)
        return isFirst
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

    /// One in four keys stands in each further level.
    private func randomHeight() -> Int {
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        return min(MemtableHead.heightMax, 1 + random.trailingZeroBitCount / 2)
    }

    /// Puts a key into all of its levels, from the lowest on: who finds it in a higher one finds it below, too.
    /// Many keys come after the last one of their table: the way there is remembered.
    private func link(_ key: MemtableKey) {
        let index = Int(key.table) % places.count
        var place = places[index]
        if let last = MemtableKey(place.last),
            last.table != key.table || last.key.order(to: key.key) >= 0
        {
            place = InsertionPlace()
        }
        let list = ownList
        list.findBefore(key.table, key.key, &place.before)
        for level in 0..<key.height {
            let links = list.links(of: place.before[level])
            key.links[level].store(links[level].load(ordering: .relaxed), ordering: .relaxed)
            links[level].store(key.address, ordering: .releasing)
            place.before[level] = key.address
        }
        place.last = key.address
        places[index] = place
    }

    /// Where a key was put last, and the last key of each level up to it; 0: none, which is the head.
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
    /// The first key of each level; 0: none.
    let links: UnsafeMutablePointer<Atomic<UInt>>
    let keys: MemtableKeys

    init(base: UInt64, over older: Memtable?) {
        keys =
            if let older {
                MemtableKeys(following: older.head.pointee.keys)
            } else {
                MemtableKeys()
            }
        self.base = base
        self.older = older?.address ?? 0
        links = .allocate(capacity: Self.heightMax)
        for level in 0..<Self.heightMax { (links + level).initialize(to: Atomic(0)) }
    }

    deinit { links.deallocate() }
}
