import CLinux

/// The pieces of one call that sends: addresses of bytes, which stay where they are until it is made.
struct PieceList: ~Copyable {
    // Allocated and freed here; the first `count` are initialised.
    private let pieces: UnsafeMutableBufferPointer<clinux_piece>
    private var count = 0
    /// Bytes in all pieces.
    private(set) var byteCount = 0

    /// An answer has a head and a chunk, or two chunks where a range begins in one and ends in the next.
    /// All further chunks of a batch are as many as its bytes fill, which is less than 16.
    private static let countMax = 3 * AnswerBatch.answerCountMax + 16

    init() {
        pieces = .allocate(capacity: Self.countMax)
    }

    deinit {
        pieces.deallocate()
    }

    var isEmpty: Bool { count == 0 }

    @inline(__always)
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        precondition(count < pieces.count, "a batch has more pieces than it may")
        pieces[count] = clinux_piece(bytes: bytes.baseAddress, count: bytes.count)
        count += 1
        byteCount += bytes.count
    }

    /// Sends the pieces with one call, and empties the list.
    mutating func send(to socket: borrowing Socket) -> Socket.Transfer {
        let listed = UnsafeBufferPointer(rebasing: pieces[0..<count])
        (count, byteCount) = (0, 0)
        guard listed.count == 1 else { return socket.send(listed) }
        return socket.send(
            UnsafeRawBufferPointer(start: listed[0].bytes, count: listed[0].count))
    }
}
