internal import Bytes

/// The puts and deletes of a batch, in their order, as bytes from which they can be done again: on the tables as they
/// stood before the first of them, or after any of them.
///
/// An operation is 8 bytes, then the key, then the value; integers are little-endian:
///
///     0  kind: 1 put, 2 delete
///     1  table: its location among those of the environment
///     2  bytes of the key, 16 bits
///     4  bytes of the value, 32 bits
struct OperationBuffer {
    private var all: [UInt8] = []
    /// How many operations there are; more than are in ``bytes`` where there was no room for all, or a table
    /// is ignored.
    private(set) var operationCount = 0
    /// Whether there was no room for all of them: ``bytes`` is of no use then.
    private(set) var isOverfull = false

    private var byteCountMax = 0
    private var ignoredTable: UInt8?
    /// Bytes in front of the operations.
    private(set) var prefixByteCount = 0

    static let operationHeaderByteCount = 8
    private static let usualByteCount = 128 << 10

    /// The operations, after as many bytes as were asked for in front of them.
    var bytes: RawSpan {
        @_lifetime(borrow self)
        get { all.span.bytes }
    }

    /// Forgets what it has, and takes note of what follows.
    ///
    /// - Parameters:
    ///   - prefixByteCount: bytes to leave free in front.
    ///   - byteCountMax: the most there may be, with those in front; 0: note nothing.
    ///   - table: whose operations are counted and not noted.
    mutating func restart(
        prefixByteCount: Int, byteCountMax: Int, ignoring table: UInt8? = nil
    ) {
        ignoredTable = table
        self.prefixByteCount = prefixByteCount
        operationCount = 0
        isOverfull = byteCountMax == 0
        self.byteCountMax = byteCountMax
        all.removeAll(keepingCapacity: true)
        // What most batches take, so that it is not copied as it grows.
        all.reserveCapacity(min(byteCountMax, Self.usualByteCount))
        if !isOverfull { all.append(contentsOf: repeatElement(0, count: prefixByteCount)) }
    }

    /// Whether puts and deletes of a table are noted now.
    func notes(_ table: UInt8) -> Bool { !isOverfull && table != ignoredTable }

    /// What it has up to now, to go back to.
    struct Mark {
        fileprivate let byteCount: Int
        fileprivate let operationCount: Int
        fileprivate let isOverfull: Bool
    }

    var mark: Mark {
        Mark(byteCount: all.count, operationCount: operationCount, isOverfull: isOverfull)
    }

    /// Forgets what came after a mark.
    mutating func rollBack(to mark: Mark) {
        all.removeLast(all.count - mark.byteCount)
        operationCount = mark.operationCount
        isOverfull = mark.isOverfull
    }

    /// Fills up with zeros to a multiple of `alignment`, and lets `body` change all of it.
    mutating func finish(alignment: Int, _ body: (inout MutableRawSpan) -> Void) {
        let rest = all.count % alignment
        if rest > 0 { all.append(contentsOf: repeatElement(0, count: alignment - rest)) }
        var span = all.mutableSpan
        // Every byte pattern is bytes.
        var bytes = span.mutableBytes
        body(&bytes)
    }

    @inline(__always)
    mutating func notePut(
        _ key: RawSpan, _ first: RawSpan, _ second: RawSpan = RawSpan(), in table: UInt8
    ) {
        note(.put, key, first, second, in: table)
    }

    @inline(__always)
    mutating func noteDelete(_ key: RawSpan, in table: UInt8) {
        note(.delete, key, RawSpan(), RawSpan(), in: table)
    }

    fileprivate enum Kind: UInt8 {
        case put = 1
        case delete = 2
    }

    private mutating func note(
        _ kind: Kind, _ key: RawSpan, _ first: RawSpan, _ second: RawSpan, in table: UInt8
    ) {
        operationCount += 1
        guard !isOverfull, table != ignoredTable else { return }
        let valueByteCount = first.byteCount + second.byteCount
        let added = Self.operationHeaderByteCount + key.byteCount + valueByteCount
        guard added <= byteCountMax - all.count else {
            isOverfull = true
            return
        }
        let header =
            UInt64(kind.rawValue) | UInt64(table) << 8 | UInt64(key.byteCount) << 16
            | UInt64(valueByteCount) << 32
        all.append(addingCapacity: added) { room in
            room.append(first: Self.operationHeaderByteCount, of: header)
            room.append(key)
            room.append(first)
            room.append(second)
        }
    }
}

/// A walk over the operations of a ``OperationBuffer``.
struct OperationReader: ~Escapable {
    private let bytes: RawSpan
    private var offset = 0

    @_lifetime(copy bytes)
    init(_ bytes: RawSpan) { self.bytes = bytes }

    struct Operation: ~Escapable {
        /// Whether it is a put; else it is a delete.
        let isPut: Bool
        /// The table's place among those of the environment.
        let table: Int
        let key: RawSpan
        /// The value of a put.
        let value: RawSpan

        @_lifetime(copy key, copy value)
        init(isPut: Bool, table: Int, key: RawSpan, value: RawSpan) {
            self.isPut = isPut
            self.table = table
            self.key = key
            self.value = value
        }
    }

    /// The next operation; nil at the end, or where the bytes make no sense, which ``isAtEnd``
    /// tells apart.
    @_lifetime(copy self)
    mutating func next() -> Operation? {
        let keyStart = offset + OperationBuffer.operationHeaderByteCount
        guard keyStart <= bytes.byteCount else { return nil }
        let valueStart = keyStart + Int(bytes.integer(offset + 2, as: UInt16.self))
        let end = valueStart + Int(bytes.integer(offset + 4, as: UInt32.self))
        guard let kind = OperationBuffer.Kind(rawValue: bytes.byte(offset)),
            valueStart > keyStart, end <= bytes.byteCount
        else { return nil }
        let table = Int(bytes.byte(offset + 1))
        offset = end
        return Operation(
            isPut: kind == .put, table: table, key: bytes.extracting(keyStart..<valueStart),
            value: bytes.extracting(valueStart..<end))
    }

    var isAtEnd: Bool { offset == bytes.byteCount }
}
