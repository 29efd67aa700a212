/// The puts and deletes of a write transaction, in their order, as bytes from which they can be
/// done again: on the tables as they stood before the first of them, or after any of them.
///
/// An operation is 8 bytes, then the key, then the value; integers are little-endian:
///
///     0  kind: 1 put, 2 delete
///     1  table: its place among those of the environment
///     2  bytes of the key, 16 bits
///     4  bytes of the value, 32 bits
package struct RedoBuffer: Sendable {
    /// The operations, behind as many bytes as were asked for in front of them.
    package private(set) var bytes: [UInt8] = []
    /// How many there are; more than are in ``bytes`` where there was no room for all of them.
    package private(set) var operationCount = 0
    /// Whether there was no room for all of them: ``bytes`` is of no use then.
    package private(set) var isOverfull = false

    private var byteCountMax = 0

    static let operationHeaderByteCount = 8

    /// Forgets what it has, and takes note of what follows.
    ///
    /// - Parameters:
    ///   - prefixByteCount: bytes to leave free in front.
    ///   - byteCountMax: the most there may be, with those in front; 0: note nothing.
    package mutating func restart(prefixByteCount: Int, byteCountMax: Int) {
        bytes.removeAll(keepingCapacity: true)
        operationCount = 0
        isOverfull = byteCountMax == 0
        self.byteCountMax = byteCountMax
        if !isOverfull { bytes.append(contentsOf: repeatElement(0, count: prefixByteCount)) }
    }

    /// Fills up with zeros to a multiple of `alignment`, and lets `body` change the bytes in front.
    package mutating func finish(alignment: Int, _ body: (inout [UInt8]) -> Void) {
        let rest = bytes.count % alignment
        if rest > 0 { bytes.append(contentsOf: repeatElement(0, count: alignment - rest)) }
        body(&bytes)
    }

    @inline(__always)
    mutating func notePut(_ key: RawSpan, _ value: RawSpan, in table: Table) {
        notePut(key, value, RawSpan(), in: table)
    }

    mutating func notePut(
        _ key: RawSpan, _ first: RawSpan, _ second: RawSpan, in table: Table
    ) {
        operationCount += 1
        guard begin(.put, key, valueByteCount: first.byteCount + second.byteCount, table) else {
            return
        }
        append(first)
        append(second)
    }

    mutating func noteDelete(_ key: RawSpan, in table: Table) {
        operationCount += 1
        _ = begin(.delete, key, valueByteCount: 0, table)
    }

    /// What was done.
    fileprivate enum Kind: UInt8 {
        case put = 1
        case delete = 2
    }

    /// - Returns: whether there is room for the operation.
    private mutating func begin(
        _ kind: Kind, _ key: RawSpan, valueByteCount: Int, _ table: Table
    ) -> Bool {
        guard !isOverfull else { return false }
        let byteCount = Self.operationHeaderByteCount + key.byteCount + valueByteCount
        guard byteCount <= byteCountMax - bytes.count else {
            isOverfull = true
            return false
        }
        let header =
            UInt64(kind.rawValue) | UInt64(table.number) << 8 | UInt64(key.byteCount) << 16
            | UInt64(valueByteCount) << 32
        // The bytes of an integer on the stack, copied.
        unsafe withUnsafeBytes(of: header.littleEndian) { unsafe bytes.append(contentsOf: $0) }
        append(key)
        return true
    }

    private mutating func append(_ span: RawSpan) {
        // The bytes are copied before the span's owner can change.
        unsafe span.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
    }
}

/// A walk over the operations of a ``RedoBuffer``.
package struct RedoReader: ~Escapable {
    private let bytes: RawSpan
    private var offset = 0

    /// - Parameter bytes: the operations alone.
    @_lifetime(copy bytes)
    package init(_ bytes: RawSpan) { self.bytes = bytes }

    /// One operation.
    package struct Operation: ~Escapable {
        /// Whether it is a put; else it is a delete.
        package let isPut: Bool
        /// The table's place among those of the environment.
        package let table: Int
        package let key: RawSpan
        package let value: RawSpan

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
    package mutating func next() -> Operation? {
        let rest = bytes.byteCount - offset
        guard rest >= RedoBuffer.operationHeaderByteCount else { return nil }
        // Inside of the span by the line above; every bit pattern is an integer.
        let header = unsafe UInt64(
            littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
        let keyByteCount = Int(header >> 16 & 0xFFFF)
        let valueByteCount = Int(header >> 32)
        guard let kind = RedoBuffer.Kind(rawValue: UInt8(truncatingIfNeeded: header)),
            keyByteCount > 0,
            keyByteCount + valueByteCount <= rest - RedoBuffer.operationHeaderByteCount
        else { return nil }
        let keyStart = offset + RedoBuffer.operationHeaderByteCount
        let valueStart = keyStart + keyByteCount
        let end = valueStart + valueByteCount
        offset = end
        return Operation(
            isPut: kind == .put, table: Int(header >> 8 & 0xFF),
            key: bytes.extracting(keyStart..<valueStart),
            value: bytes.extracting(valueStart..<end))
    }

    /// Whether all operations have been given.
    package var isAtEnd: Bool { offset == bytes.byteCount }
}
