/// Bytes that have been received and not been read yet.
struct InputBuffer: Sendable {
    /// What is received at once when there is room, in bytes: large enough that a big payload takes
    /// few system calls.
    static let byteCountMin = 262_144
    /// How far the buffer may grow while a request is being sent and answers keep coming, in bytes.
    static let byteCountMax = 8 << 20

    private var bytes = [UInt8](repeating: 0, count: InputBuffer.byteCountMin)
    private var start = 0
    private var end = 0

    /// Whether the peer has closed its end.
    private(set) var isAtEnd = false

    var count: Int { end - start }

    /// Whether no more can be taken in before something is read.
    var isFull: Bool { count >= Self.byteCountMax }

    /// Borrows the unread bytes.
    func withUnread<R>(_ body: (RawSpan) throws(ClientError) -> R) throws(ClientError) -> R {
        try body(bytes.span.bytes.extracting(start..<end))
    }

    /// Marks the first `count` unread bytes as read.
    mutating func consume(_ count: Int) {
        start += count
        if start == end { (start, end) = (0, 0) }
    }

    /// Receives once. Growing is for the time in which nothing can be read, see `byteCountMax`.
    mutating func fill(from socket: borrowing UnixSocket) throws(ClientError) {
        if end == bytes.count {
            if start > 0 {
                bytes.replaceSubrange(0..<(end - start), with: bytes[start..<end])
                (start, end) = (0, end - start)
            } else {
                bytes.append(contentsOf: repeatElement(0, count: bytes.count))
            }
        }
        let received = try socket.receive(into: &bytes, from: end)
        if received == 0 { isAtEnd = true }
        end += received
    }
}
