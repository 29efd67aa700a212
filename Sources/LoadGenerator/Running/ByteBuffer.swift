internal import Glibc

/// Memory for bytes that are received or to be sent, with room for a number of them that does not
/// change.
struct ByteBuffer: ~Copyable {
    /// How many bytes there is room for.
    let capacity: Int
    // Allocated in `init` and freed in `deinit`. Zeroed once, so that every byte is initialised.
    private let memory: UnsafeMutableRawPointer
    /// How many bytes were appended.
    private(set) var count = 0

    /// On a cache line's boundary; zeroed, which also brings the pages in before the run.
    init(capacity: Int) {
        self.capacity = capacity
        memory = .allocate(byteCount: capacity, alignment: 64)
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: capacity)
    }

    deinit { memory.deallocate() }

    /// How many more bytes there is room for.
    var room: Int { capacity - count }

    /// Appends a copy. There must be room for it.
    mutating func append(_ bytes: RawSpan) {
        precondition(bytes.byteCount <= room)
        // The span's bytes are copied during the call, into room that was just checked.
        bytes.withUnsafeBytes { source in
            guard let base = source.baseAddress else { return }
            memcpy(memory + count, base, source.count)
        }
        count += bytes.byteCount
    }

    /// Appends the first `byteCount` bytes, at most 8, of a number in the machine's order.
    mutating func append(_ number: UInt64, byteCount: Int) {
        precondition(byteCount <= 8 && room >= byteCount)
        withUnsafeBytes(of: number) {
            (memory + count).copyMemory(from: $0.baseAddress!, byteCount: byteCount)
        }
        count += byteCount
    }

    /// Empties it.
    mutating func removeAll() { count = 0 }

    /// What was appended.
    var bytes: RawSpan {
        @_lifetime(borrow self)
        borrowing get { bytes(in: 0..<count) }
    }

    /// Any bytes of it, also such as were never appended.
    @_lifetime(borrow self)
    borrowing func bytes(in range: Range<Int>) -> RawSpan {
        precondition(range.lowerBound >= 0 && range.upperBound <= capacity)
        // The memory is initialised, and lives until `self`, which the span borrows, ends.
        let span = RawSpan(
            _unsafeStart: UnsafeRawPointer(memory) + range.lowerBound, byteCount: range.count)
        return _overrideLifetime(span, borrowing: self)
    }

    /// Copies bytes to a place in it.
    mutating func copy(_ bytes: RawSpan, to offset: Int) {
        precondition(offset >= 0 && offset <= capacity && bytes.byteCount <= capacity - offset)
        bytes.withUnsafeBytes { source in
            guard let base = source.baseAddress else { return }
            memcpy(memory + offset, base, source.count)
        }
    }

    /// Lets a system call fill the bytes from `offset` on; the pointer is good during the call.
    mutating func fill<Result>(
        from offset: Int, _ body: (UnsafeMutableRawPointer, Int) -> Result
    ) -> Result {
        precondition(offset >= 0 && offset <= capacity)
        return body(memory + offset, capacity - offset)
    }
}
