internal import Bytes
internal import Glibc
internal import Synchronization

/// What one operation did to a key, in the memory of a memtable:
///
///     0   number of the operation
///     8   bytes of the value, or `deleted`
///     16  the entry of the same key before it; 0: none
///     24  the key
///     32  the value
struct MemtableEntry {
    static let deleted = -1
    /// The number of one that no view has.
    static let takenBack = UInt64.max
    static let headByteCount = 32

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
    var older: UInt { start.load(fromByteOffset: 16, as: UInt.self) }
    var node: MemtableKey {
        MemtableKey(start.load(fromByteOffset: 24, as: UnsafeMutableRawPointer.self))
    }
    var value: UnsafeMutableRawPointer { start + Self.headByteCount }
    var table: UInt8 { node.table }

    /// Good as long as the memtable is.
    var key: RawSpan {
        @_lifetime(immortal)
        get { node.key }
    }

    /// The value of a put. Good as long as the memtable is.
    var bytes: RawSpan {
        @_lifetime(immortal)
        get {
            let span = RawSpan(_unsafeStart: value, byteCount: max(0, length))
            return _overrideLifetime(span, copying: ())
        }
    }

    private var order: UnsafeMutablePointer<Atomic<UInt64>> {
        start.assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    /// Has it seen by nobody.
    func takeBack() { order.pointee.store(Self.takenBack, ordering: .relaxed) }

    /// - Parameter older: the entry of the key before it that is not taken back.
    func fill(number: UInt64, length: Int, of key: MemtableKey, over older: MemtableEntry?) {
        order.initialize(to: Atomic(number))
        start.storeBytes(of: length, toByteOffset: 8, as: Int.self)
        start.storeBytes(of: older?.address ?? 0, toByteOffset: 16, as: UInt.self)
        start.storeBytes(of: key.start, toByteOffset: 24, as: UnsafeMutableRawPointer.self)
    }
}

/// A key in the memory of a memtable:
///
///     0   its newest entry
///     8   bytes of the key, 16 bits; table; height
///     16  the table and the first seven bytes of the key, as a number: most often it tells the order
///     24  a link for each level, to the next key there; 0: none. Then the key
struct MemtableKey {
    private static let headByteCount = 24

    let start: UnsafeMutableRawPointer

    init(_ start: UnsafeMutableRawPointer) { self.start = start }

    @inline(__always)
    init?(_ address: UInt) {
        guard let start = UnsafeMutableRawPointer(bitPattern: address) else { return nil }
        self.start = start
    }

    var address: UInt { UInt(bitPattern: start) }
    var table: UInt8 { start.load(fromByteOffset: 10, as: UInt8.self) }
    var height: Int { Int(start.load(fromByteOffset: 11, as: UInt8.self)) }
    private var prefix: UInt64 { start.load(fromByteOffset: 16, as: UInt64.self) }
    private var byteCount: Int { Int(start.load(fromByteOffset: 8, as: UInt16.self)) }

    var newest: UnsafeMutablePointer<Atomic<UInt>> {
        start.assumingMemoryBound(to: Atomic<UInt>.self)
    }
    var links: UnsafeMutablePointer<Atomic<UInt>> {
        (start + Self.headByteCount).assumingMemoryBound(to: Atomic<UInt>.self)
    }

    /// Good as long as the memtable is.
    var key: RawSpan {
        @_lifetime(immortal)
        get {
            let first = start + Self.headByteCount + height * 8
            return _overrideLifetime(
                RawSpan(_unsafeStart: first, byteCount: byteCount), copying: ())
        }
    }

    /// The table and the first seven bytes of a key; zeros for those that it does not have.
    static func prefix(_ table: UInt8, _ key: RawSpan) -> UInt64 {
        if key.byteCount >= 8 { return UInt64(table) << 56 | key.word(0).bigEndian >> 8 }
        var first: UInt64 = 0
        for index in 0..<7 {
            first = first << 8 | (index < key.byteCount ? UInt64(key.byte(index)) : 0)
        }
        return UInt64(table) << 56 | first
    }

    /// Whether it comes before a key with a prefix.
    @inline(__always)
    func isBefore(_ key: RawSpan, _ prefix: UInt64) -> Bool {
        let own = self.prefix
        if own != prefix { return own < prefix }
        return self.key.order(to: key) < 0
    }

    static func byteCount(height: Int, keyByteCount: Int) -> Int {
        (headByteCount + height * 8 + keyByteCount + 7) / 8 * 8
    }

    func fill(table: UInt8, height: Int, key: RawSpan) {
        newest.initialize(to: Atomic(0))
        start.storeBytes(of: UInt16(key.byteCount), toByteOffset: 8, as: UInt16.self)
        start.storeBytes(of: table, toByteOffset: 10, as: UInt8.self)
        start.storeBytes(of: UInt8(height), toByteOffset: 11, as: UInt8.self)
        start.storeBytes(of: Self.prefix(table, key), toByteOffset: 16, as: UInt64.self)
        for level in 0..<height { (links + level).initialize(to: Atomic(0)) }
        key.withUnsafeBytes { bytes in
            guard let first = bytes.baseAddress else { return }
            memcpy(start + Self.headByteCount + height * 8, first, bytes.count)
        }
    }

    /// The newest entry up to an operation; nil: none.
    @inline(__always)
    func entry(upTo number: UInt64) -> MemtableEntry? {
        var address = newest.pointee.load(ordering: .acquiring)
        while let entry = MemtableEntry(address) {
            if entry.number <= number { return entry }
            address = entry.older
        }
        return nil
    }
}
