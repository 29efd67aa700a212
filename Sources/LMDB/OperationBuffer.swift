internal import Bytes

/// The puts and deletes of a write transaction, in their order, as bytes from which they can be
/// done again: on the tables as they stood before the first of them, or after any of them.
///
/// An operation is 8 bytes, then the key, then the value; integers are little-endian:
///
///     0  kind: 1 put, 2 delete, 3 put of a long value whose bytes are in pages of the file
///     1  table: its location among those of the environment
///     2  bytes of the key, 16 bits
///     4  bytes of the value, 32 bits
///
/// The value of kind 3 is the number of the first page, 64 bits, and the bytes of the long value, 64 bits.
package struct OperationBuffer {
    private var all: [UInt8] = []
    /// How many operations there are; more than are in ``bytes`` where there was no room for all, or a table
    /// is ignored.
    package private(set) var operationCount = 0
    /// Whether there was no room for all of them: ``bytes`` is of no use then.
    package private(set) var isOverfull = false

    /// Whether one of them is a long value that was noted by its location.
    package private(set) var hasOverflow = false

    private var byteCountMax = 0
    private var ignoredTable: UInt8?
    /// Bytes in front of the operations.
    package private(set) var prefixByteCount = 0

    static let operationHeaderByteCount = 8
    static let overflowByteCount = 16

    /// The operations, after as many bytes as were asked for in front of them.
    package var bytes: RawSpan {
        @_lifetime(borrow self)
        get { unsafe all.span.bytes }
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
        operationCount = 0
        hasOverflow = false
        isOverfull = byteCountMax == 0
        self.byteCountMax = byteCountMax
        all.removeAll(keepingCapacity: true)
        if !isOverfull { all.append(contentsOf: repeatElement(0, count: prefixByteCount)) }
    }

    /// Fills up with zeros to a multiple of `alignment`, and lets `body` change all of it.
    package mutating func finish(alignment: Int, _ body: (inout MutableRawSpan) -> Void) {
        let rest = all.count % alignment
        if rest > 0 { all.append(contentsOf: repeatElement(0, count: alignment - rest)) }
        var span = all.mutableSpan
        // Every byte pattern is bytes.
        var bytes = unsafe span.mutableBytes
        body(&bytes)
    }

    @inline(__always)
    mutating func notePut(
        _ key: RawSpan, _ first: RawSpan, _ second: RawSpan = RawSpan(), in table: Table
    ) {
        note(.put, key, first, second, in: table)
    }

    mutating func notePut(_ key: RawSpan, in overflow: OverflowLocation, _ table: Table) {
        let words: InlineArray<2, UInt64> = [
            overflow.pageNumber.littleEndian, UInt64(overflow.byteCount).littleEndian,
        ]
        hasOverflow = true
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

    private mutating func note(
        _ kind: Kind, _ key: RawSpan, _ first: RawSpan, _ second: RawSpan, in table: Table
    ) {
        operationCount += 1
        guard !isOverfull, table.number != ignoredTable else { return }
        let valueByteCount = first.byteCount + second.byteCount
        let added = Self.operationHeaderByteCount + key.byteCount + valueByteCount
        guard added <= byteCountMax - all.count else {
            isOverfull = true
            return
        }
        let header =
            UInt64(kind.rawValue) | UInt64(table.number) << 8 | UInt64(key.byteCount) << 16
            | UInt64(valueByteCount) << 32
        all.append(littleEndian: header)
        all.append(contentsOf: key)
        all.append(contentsOf: first)
        all.append(contentsOf: second)
    }
}

/// A walk over the operations of a ``OperationBuffer``.
package struct OperationReader: ~Escapable {
    private let bytes: RawSpan
    private var offset = 0

    private let hasOverflow: Bool

    /// - Parameters:
    ///   - hasOverflow: whether long values may be in pages of the file. If not, one that is makes no
    ///     sense.
    @_lifetime(copy bytes)
    package init(_ bytes: RawSpan, hasOverflow: Bool = false) {
        self.bytes = bytes
        self.hasOverflow = hasOverflow
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
        package let overflow: OverflowLocation?

        @_lifetime(copy key, copy value)
        init(isPut: Bool, table: Int, key: RawSpan, value: RawSpan, overflow: OverflowLocation?) {
            self.overflow = overflow
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
        let keyStart = offset + OperationBuffer.operationHeaderByteCount
        guard keyStart <= bytes.byteCount else { return nil }
        let valueStart = keyStart + Int(bytes.integer(offset + 2, as: UInt16.self))
        let end = valueStart + Int(bytes.integer(offset + 4, as: UInt32.self))
        guard let kind = OperationBuffer.Kind(rawValue: bytes.byte(offset)),
            valueStart > keyStart, end <= bytes.byteCount
        else { return nil }
        var value = bytes.extracting(valueStart..<end)
        var overflow: OverflowLocation?
        if kind == .putInPages {
            guard hasOverflow, value.byteCount == OperationBuffer.overflowByteCount,
                let byteCount = Int(exactly: value.integer(8, as: UInt64.self))
            else { return nil }
            overflow = OverflowLocation(pageNumber: value.integer(0), byteCount: byteCount)
            value = value.extracting(first: 0)
        }
        let table = Int(bytes.byte(offset + 1))
        offset = end
        return Operation(
            isPut: kind != .delete, table: table, key: bytes.extracting(keyStart..<valueStart),
            value: value, overflow: overflow)
    }

    package var isAtEnd: Bool { offset == bytes.byteCount }
}
