/// The puts and deletes of a write transaction, in their order, as bytes from which they can be
/// done again: on the tables as they stood before the first of them, or after any of them.
///
/// An operation is 8 bytes, then the key, then the value; integers are little-endian:
///
///     0  kind: 1 put, 2 delete, 3 put of a long value whose bytes are in pages of the file
///     1  table: its place among those of the environment
///     2  bytes of the key, 16 bits
///     4  bytes of the value, 32 bits
///
/// The value of kind 3 is the number of the first page, 64 bits, and the bytes of the long value, 64 bits.
///
/// The bytes begin at a page of memory, so that they can be written past the page cache as they are.
@safe package struct OperationBuffer: ~Copyable {
    // Made by `grow` and freed by it and at the end; `byteCount` bytes of it are initialized.
    private var memory = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private var byteCount = 0
    /// How many operations there are; more than are in ``bytes`` where there was no room for all, or a table
    /// is ignored.
    package private(set) var operationCount = 0
    /// Whether there was no room for all of them: ``bytes`` is of no use then.
    package private(set) var isOverfull = false

    /// Whether one of them is a long value that was noted by its place.
    package private(set) var hasPlaces = false

    private var byteCountMax = 0
    private var ignoredTable: UInt8?
    /// Bytes in front of the operations.
    package private(set) var prefixByteCount = 0

    static let operationHeaderByteCount = 8
    private static let pageByteCount = 4_096
    private static let firstByteCount = 64 << 10

    init() {}

    deinit { unsafe memory.deallocate() }

    /// The operations, behind as many bytes as were asked for in front of them. Good until the next
    /// of them is noted.
    package var bytes: RawSpan {
        @_lifetime(borrow self)
        get {
            // The memory stays as it is for as long as this is borrowed.
            let span = unsafe RawSpan(
                _unsafeBytes: UnsafeRawBufferPointer(rebasing: memory[..<byteCount]))
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// Forgets what it has, and takes note of what follows.
    ///
    /// - Parameters:
    ///   - prefixByteCount: bytes to leave free in front.
    ///   - byteCountMax: the most there may be, with those in front; 0: note nothing.
    ///   - table: whose operations are counted and not noted.
    package mutating func restart(
        prefixByteCount: Int, byteCountMax: Int, ignoring table: Table? = nil
    ) {
        ignoredTable = table?.number
        self.prefixByteCount = prefixByteCount
        byteCount = 0
        operationCount = 0
        hasPlaces = false
        isOverfull = byteCountMax == 0
        self.byteCountMax = byteCountMax
        if !isOverfull { appendZeros(prefixByteCount) }
    }

    /// Fills up with zeros to a multiple of `alignment`, and lets `body` change all of it.
    package mutating func finish(alignment: Int, _ body: (inout MutableRawSpan) -> Void) {
        let rest = byteCount % alignment
        if rest > 0 { appendZeros(alignment - rest) }
        // Nothing else touches the memory during the call.
        var span = unsafe MutableRawSpan(
            _unsafeBytes: UnsafeMutableRawBufferPointer(rebasing: memory[..<byteCount]))
        body(&span)
    }

    @inline(__always)
    mutating func notePut(_ key: RawSpan, _ value: RawSpan, in table: Table) {
        note(.put, key, value, RawSpan(), in: table)
    }

    @inline(__always)
    mutating func notePut(
        _ key: RawSpan, _ first: RawSpan, _ second: RawSpan, in table: Table
    ) {
        note(.put, key, first, second, in: table)
    }

    mutating func notePut(_ key: RawSpan, in place: LongValuePlace, _ table: Table) {
        let words: InlineArray<2, UInt64> = [
            place.pageNumber.littleEndian, UInt64(place.byteCount).littleEndian,
        ]
        hasPlaces = true
        // Every byte of the words is initialized.
        unsafe note(.putInPages, key, words.span.bytes, RawSpan(), in: table)
    }

    @inline(__always)
    mutating func noteDelete(_ key: RawSpan, in table: Table) {
        note(.delete, key, RawSpan(), RawSpan(), in: table)
    }

    fileprivate enum Kind: UInt8 {
        case put = 1
        case delete = 2
        case putInPages = 3
    }

    static let placeByteCount = 16

    private mutating func note(
        _ kind: Kind, _ key: RawSpan, _ first: RawSpan, _ second: RawSpan, in table: Table
    ) {
        operationCount += 1
        guard !isOverfull, table.number != ignoredTable else { return }
        let valueByteCount = first.byteCount + second.byteCount
        let added = Self.operationHeaderByteCount + key.byteCount + valueByteCount
        guard added <= byteCountMax - byteCount else {
            isOverfull = true
            return
        }
        if unsafe added > memory.count - byteCount { grow(by: added) }
        let header =
            UInt64(kind.rawValue) | UInt64(table.number) << 8 | UInt64(key.byteCount) << 16
            | UInt64(valueByteCount) << 32
        // There is room for all four, by the lines above.
        unsafe memory.storeBytes(of: header.littleEndian, toByteOffset: byteCount, as: UInt64.self)
        byteCount += Self.operationHeaderByteCount
        append(key)
        append(first)
        append(second)
    }

    /// Copies a span to the end, where there is room for it.
    @inline(__always)
    private mutating func append(_ span: RawSpan) {
        unsafe span.withUnsafeBytes { source in
            guard let start = source.baseAddress else { return }
            let target = unsafe memory.baseAddress.unsafelyUnwrapped + byteCount
            unsafe target.copyMemory(from: start, byteCount: span.byteCount)
        }
        byteCount += span.byteCount
    }

    private mutating func appendZeros(_ count: Int) {
        if unsafe count > memory.count - byteCount { grow(by: count) }
        let target = unsafe UnsafeMutableRawBufferPointer(
            rebasing: memory[byteCount..<byteCount + count])
        _ = unsafe target.initializeMemory(as: UInt8.self, repeating: 0)
        byteCount += count
    }

    /// Moves to memory with room for at least so many bytes more.
    @inline(never)
    private mutating func grow(by count: Int) {
        let size = unsafe max(Self.firstByteCount, 2 * memory.count, byteCount + count)
        let larger = UnsafeMutableRawBufferPointer.allocate(
            byteCount: size, alignment: Self.pageByteCount)
        unsafe larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<byteCount]))
        unsafe memory.deallocate()
        unsafe memory = larger
    }
}

/// A walk over the operations of a ``OperationBuffer``.
package struct OperationReader: ~Escapable {
    private let bytes: RawSpan
    private var offset = 0

    private let hasPlaces: Bool

    /// - Parameters:
    ///   - bytes: the operations alone.
    ///   - hasPlaces: whether long values may be in pages of the file. If not, one that is makes no
    ///     sense.
    @_lifetime(copy bytes)
    package init(_ bytes: RawSpan, hasPlaces: Bool = false) {
        self.bytes = bytes
        self.hasPlaces = hasPlaces
    }

    package struct Operation: ~Escapable {
        /// Whether it is a put; else it is a delete.
        package let isPut: Bool
        /// The table's place among those of the environment.
        package let table: Int
        package let key: RawSpan
        /// The value of a put; empty where it is in pages of the file.
        package let value: RawSpan
        /// Where in the file the value is; nil: here.
        package let place: LongValuePlace?

        @_lifetime(copy key, copy value)
        init(isPut: Bool, table: Int, key: RawSpan, value: RawSpan, place: LongValuePlace?) {
            self.place = place
            self.isPut = isPut
            self.table = table
            self.key = key
            self.value = value
        }
    }

    /// The next operation; nil at the end, or where the bytes make no sense, which ``isAtEnd``
    /// tells apart.
    @_lifetime(copy self)
    package mutating func next() -> Operation? {
        let rest = bytes.byteCount - offset
        guard rest >= OperationBuffer.operationHeaderByteCount else { return nil }
        // Inside of the span by the line above; every bit pattern is an integer.
        let header = unsafe UInt64(
            littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
        let keyByteCount = Int(header >> 16 & 0xFFFF)
        let valueByteCount = Int(header >> 32)
        guard let kind = OperationBuffer.Kind(rawValue: UInt8(truncatingIfNeeded: header)),
            keyByteCount > 0,
            keyByteCount + valueByteCount <= rest - OperationBuffer.operationHeaderByteCount
        else { return nil }
        let keyStart = offset + OperationBuffer.operationHeaderByteCount
        let valueStart = keyStart + keyByteCount
        let end = valueStart + valueByteCount
        var value = bytes.extracting(valueStart..<end)
        var place: LongValuePlace?
        if kind == .putInPages {
            guard hasPlaces, value.byteCount == OperationBuffer.placeByteCount else { return nil }
            // Of 16 bytes by the line above; every bit pattern is an integer.
            let number = unsafe value.unsafeLoadUnaligned(as: UInt64.self)
            let count = unsafe value.unsafeLoadUnaligned(fromByteOffset: 8, as: UInt64.self)
            guard let byteCount = Int(exactly: UInt64(littleEndian: count)) else { return nil }
            place = LongValuePlace(pageNumber: UInt64(littleEndian: number), byteCount: byteCount)
            value = value.extracting(first: 0)
        }
        offset = end
        return Operation(
            isPut: kind != .delete, table: Int(header >> 8 & 0xFF),
            key: bytes.extracting(keyStart..<valueStart), value: value, place: place)
    }

    package var isAtEnd: Bool { offset == bytes.byteCount }
}
