/// The bytes that a worker has read from one connection. What is left at the end of its time slice is copied to it,
/// so that an idle connection has no buffer.
struct InputBuffer: ~Copyable {
    /// Input that a worker reads at once, in bytes; more than the largest head of either dialect.
    static let byteCountMax = 64 << 10

    private let storage: UnsafeMutableRawBufferPointer
    private var start = 0
    private var end = 0
    var readByteCountMax = Int.max
    /// Whether the last read filled its room, so that the socket may have more.
    private(set) var isFilled = false

    init() {
        storage = .allocate(byteCount: Self.byteCountMax, alignment: 16)
    }

    deinit {
        storage.deallocate()
    }

    var bytes: RawSpan {
        @_lifetime(borrow self)
        borrowing get {
            // The storage lives as long as this value, and only `mutating` methods change it, which no span survives.
            let bytes = UnsafeRawBufferPointer(rebasing: storage[start..<end])
            let span = RawSpan(_unsafeBytes: bytes)
            return _overrideLifetime(span, borrowing: self)
        }
    }

    var isEmpty: Bool { start == end }
    var byteCount: Int { end - start }
    /// Whether nothing more can be read before something is used.
    var isFull: Bool { start == 0 && end == storage.count }

    /// Begins with what an earlier time slice left, which must fit.
    mutating func load(_ rest: [UInt8]) {
        precondition(rest.count <= storage.count)
        start = 0
        end = rest.count
        storage.copyBytes(from: rest)
    }

    func rest() -> [UInt8] {
        Array(storage[start..<end])
    }

    mutating func consume(_ count: Int) {
        precondition(count >= 0 && count <= end - start)
        start += count
        if start == end { (start, end) = (0, 0) }
    }

    mutating func read(from socket: borrowing Socket) -> Socket.Transfer {
        if end == storage.count, start > 0 {
            storage.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[start..<end]))
            (start, end) = (0, end - start)
        }
        let room = min(storage.count - end, readByteCountMax)
        guard room > 0 else { return .blocked }
        let free = UnsafeMutableRawBufferPointer(rebasing: storage[end..<(end + room)])
        let transfer = socket.read(into: free)
        if case .moved(let count) = transfer {
            end += count
            isFilled = count == room
        }
        return transfer
    }
}
