internal import Glibc

/// Memory for bytes that are received or to be sent, with room for a number of them that does not
/// change.
struct ByteBuffer: ~Copyable {
    let capacity: Int
    // Allocated in `init` and freed in `deinit`. Zeroed once, so that every byte is initialised.
    private let memory: UnsafeMutableRawPointer
    private(set) var count = 0

    /// On a cache line's boundary; zeroed, which also brings the pages in before the run.
    init(capacity: Int) {
        self.capacity = capacity
        memory = .allocate(byteCount: capacity, alignment: 64)
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: capacity)
    }

    deinit { memory.deallocate() }

    var room: Int { capacity - count }

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

    mutating func removeAll() { count = 0 }

    var bytes: RawSpan {
        @_lifetime(borrow self)
        borrowing get { bytes(in: 0..<count) }
    }

    @_lifetime(borrow self)
    borrowing func bytes(in range: Range<Int>) -> RawSpan {
        precondition(range.lowerBound >= 0 && range.upperBound <= capacity)
        // The memory is initialised, and lives until `self`, which the span borrows, ends.
        let span = RawSpan(
            _unsafeStart: UnsafeRawPointer(memory) + range.lowerBound, byteCount: range.count)
        return _overrideLifetime(span, borrowing: self)
    }

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

/// As many elements as it was made with, in memory of its own, for the loop: no reference counts,
/// no growing, and elements that cannot be copied. Every access is checked against its bounds.
struct FixedArray<Element: ~Copyable>: ~Copyable {
    let count: Int
    // Allocated and initialised in `init`, freed in `deinit`, and never handed out: an element
    // borrows the array.
    private let elements: UnsafeMutablePointer<Element>

    /// Makes `count` elements. When `element` throws, those made before are ended.
    init<Failure: Error>(
        count: Int, _ element: (Int) throws(Failure) -> Element
    ) throws(Failure) {
        precondition(count >= 0)
        let made = UnsafeMutablePointer<Element>.allocate(capacity: count)
        for index in 0..<count {
            do throws(Failure) {
                (made + index).initialize(to: try element(index))
            } catch {
                made.deinitialize(count: index)
                made.deallocate()
                throw error
            }
        }
        self.count = count
        elements = made
    }

    deinit {
        elements.deinitialize(count: count)
        elements.deallocate()
    }

    // Addressors rather than coroutines, which the compiler cannot build for the thread sanitizer.
    subscript(index: Int) -> Element {
        unsafeAddress {
            precondition(index >= 0 && index < count)
            return UnsafePointer(elements + index)
        }
        unsafeMutableAddress {
            precondition(index >= 0 && index < count)
            return elements + index
        }
    }
}

struct InFlightRing: ~Copyable {
    private var entries: FixedArray<PlannedRequest>
    private let capacity: Int
    private var head = 0
    private(set) var count = 0

    init(capacity: Int) {
        self.capacity = capacity
        entries = FixedArray(count: capacity) { _ in
            PlannedRequest(kind: .opening, index: 0, intendedAt: 0, stamp: 0)
        }
    }

    var isFull: Bool { count == capacity }

    mutating func append(_ request: PlannedRequest) {
        precondition(count < capacity)
        var position = head + count
        if position >= capacity { position -= capacity }
        entries[position] = request
        count += 1
    }

    var first: PlannedRequest {
        precondition(count > 0)
        return entries[head]
    }

    func request(_ position: Int) -> PlannedRequest {
        precondition(position < count)
        return entries[(head + position) % capacity]
    }

    mutating func removeFirst() {
        precondition(count > 0)
        count -= 1
        head += 1
        if head == capacity { head = 0 }
    }
}
