/// The bytes that a worker has read from one connection. The rest is copied to the connection when its time slice ends,
/// so an idle connection has no buffer.
struct InputBuffer: ~Copyable {
    /// The most that a worker reads at once, in bytes; more than the largest head of either dialect.
    static let byteCountMax = 64 << 10

    private let storage: UnsafeMutableRawBufferPointer
    private var start = 0
    private var end = 0
    var readByteCountMax = Int.max
    /// Whether the last read filled the buffer, so that the socket may contain more.
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
            // The storage lives as long as this value. Only `mutating` methods change it, and no span survives one.
            let bytes = UnsafeRawBufferPointer(rebasing: storage[start..<end])
            let span = RawSpan(_unsafeBytes: bytes)
            return _overrideLifetime(span, borrowing: self)
        }
    }

    var isEmpty: Bool { start == end }
    var byteCount: Int { end - start }
    /// Whether nothing can be read until something is consumed.
    var isFull: Bool { start == 0 && end == storage.count }

    /// Starts with what an earlier time slice left, which must fit.
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
