internal import Bytes
internal import Glibc
internal import LMDB
internal import Synchronization

/// What is acknowledged and not in `data.mdb` yet: the puts and deletes of the batches in the log, in memory, where
/// every reader of this process finds them. One thread adds batches; readers need no lock.
///
/// It is a skip list, ordered by table, then key, newest first. Nothing in it changes once it is there, so a reader
/// that knows how many operations were acknowledged when it began (``MemtableView``) sees just those, and values are
/// read in place. It is made for one commit, its base, and is of no use to a view of a later one, which has all of it.
@safe final class Memtable: @unchecked Sendable {
    // Sendable: `add` and `publish` are called under `CommitPipeline.writing`. What readers follow, the links, is
    // atomic, and written once an entry is complete.

    /// The address of ``MemtableHead``, by which readers find it. Valid as long as this.
    let address: UInt

    private var head: UnsafeMutablePointer<MemtableHead> {
        UnsafeMutablePointer(bitPattern: address)!
    }
    /// Memory that entries are cut from, and how much of the last piece is used.
    private var blocks: [UnsafeMutableRawPointer] = []
    private var blockByteCount = 0
    private var usedByteCount = 0
    private var operationCount: UInt64 = 0
    private var random: UInt64 = 0x9E37_79B9_7F4A_7C15

    private static let blockByteCountMin = 256 << 10

    /// - Parameter base: the commit that the first batch is on top of.
    init(base: UInt64) {
        let head = UnsafeMutablePointer<MemtableHead>.allocate(capacity: 1)
        head.initialize(to: MemtableHead(base: base))
        address = UInt(bitPattern: head)
    }

    /// Nobody may read it any more.
    deinit {
        for block in blocks { block.deallocate() }
        head.deinitialize(count: 1)
        head.deallocate()
    }

    /// Adds a put. `value`: copied, one part after the other.
    func put(_ key: RawSpan, _ value: RawSpan, in table: UInt8) {
        add(key, value, value.byteCount, in: table)
    }

    /// Adds a delete.
    func delete(_ key: RawSpan, in table: UInt8) {
        add(key, RawSpan(), MemtableEntry.deleted, in: table)
    }

    /// Lets readers see everything added so far.
    func publish() {
        head.pointee.published.store(operationCount, ordering: .releasing)
    }

    private func add(_ key: RawSpan, _ value: RawSpan, _ length: Int, in table: UInt8) {
        let entry = allocate(key, length, in: table)
        value.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress { memcpy(entry.value, start, bytes.count) }
        }
        link(entry)
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
        return entry
    }

    private func take(_ size: Int) -> UnsafeMutableRawPointer {
        if blocks.isEmpty || usedByteCount + size > blockByteCount {
            blockByteCount = max(Self.blockByteCountMin, size)
            blocks.append(.allocate(byteCount: blockByteCount, alignment: 16))
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
    private func link(_ entry: MemtableEntry) {
        var before = InlineArray<12, UInt>(repeating: 0)
        let view = MemtableView(address: address, operationCount: operationCount)
        view.findBefore(entry.table, entry.key, entry.number, &before)
        for level in 0..<entry.height {
            let links = view.links(of: before[level])
            entry.links[level].store(links[level].load(ordering: .relaxed), ordering: .relaxed)
            links[level].store(entry.address, ordering: .releasing)
        }
    }
}

/// Where a memtable begins.
struct MemtableHead: ~Copyable {
    static let heightMax = 12

    /// The commit that it is on top of.
    let base: UInt64
    /// The operations up to this number are acknowledged.
    let published = Atomic<UInt64>(0)
    /// The first entry of each level; 0: none.
    let links: UnsafeMutablePointer<Atomic<UInt>>
    let filter = KeyFilter()

    init(base: UInt64) {
        self.base = base
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
    private static let linksOffset = 24

    let start: UnsafeMutableRawPointer

    init(_ start: UnsafeMutableRawPointer) { self.start = start }

    @inline(__always)
    init?(_ address: UInt) {
        guard let start = UnsafeMutableRawPointer(bitPattern: address) else { return nil }
        self.start = start
    }

    var address: UInt { UInt(bitPattern: start) }
    var number: UInt64 { start.load(as: UInt64.self) }
    /// Bytes of the value, or ``deleted``.
    var length: Int { start.load(fromByteOffset: 8, as: Int.self) }
    var keyByteCount: Int { Int(start.load(fromByteOffset: 16, as: UInt16.self)) }
    var table: UInt8 { start.load(fromByteOffset: 18, as: UInt8.self) }
    var height: Int { Int(start.load(fromByteOffset: 19, as: UInt8.self)) }

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

    var value: UnsafeMutableRawPointer {
        start + (Self.linksOffset + height * 8 + keyByteCount + 7) / 8 * 8
    }

    static func byteCount(height: Int, keyByteCount: Int, length: Int) -> Int {
        let value = (linksOffset + height * 8 + keyByteCount + 7) / 8 * 8
        return (value + max(0, length) + 7) / 8 * 8
    }

    func fill(number: UInt64, length: Int, table: UInt8, height: Int, key: RawSpan) {
        start.storeBytes(of: number, as: UInt64.self)
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
