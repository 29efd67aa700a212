import BlobClient
import BlobProtocol
import Glibc

/// A reader's connection: requests in either dialect, and what has been received and not used.
struct ReadingLink: ~Copyable {
    let isHTTP: Bool
    private let socket: RawSocket
    private var input: [UInt8] = []
    private var used = 0
    /// When something was last sent or received, in milliseconds.
    private var movedAt = Clock.milliseconds()
    /// For how long nothing had been before the last requests, in milliseconds.
    private(set) var quietMilliseconds = 0

    /// The longest wait for the daemon to say anything, in milliseconds.
    private static let patienceMilliseconds = 60_000

    /// Connects. In the binary protocol the first answer will be hello's.
    init(to path: String, isHTTP: Bool) throws {
        self.isHTTP = isHTTP
        socket = try RawSocket.connect(to: path)
    }

    /// Bytes that have come and are not used.
    var byteCount: Int { input.count - used }

    /// Borrows the same.
    func withBytes<Result>(_ body: (RawSpan) throws -> Result) rethrows -> Result {
        try body(input.span.bytes.extracting(used..<input.count))
    }

    /// So many bytes are used.
    mutating func use(_ count: Int) {
        used += count
        if used == input.count {
            input.removeAll(keepingCapacity: true)
            used = 0
        }
    }

    /// Waits for more bytes and takes at most `limit`. Returns false when the connection has ended.
    mutating func receive(limit: Int) throws -> Bool {
        while true {
            switch socket.receive(into: &input, limit: limit) {
            case .moved:
                movedAt = Clock.milliseconds()
                return true
            case .gone: return false
            case .wouldBlock:
                try socket.wait(
                    sending: false, milliseconds: Self.patienceMilliseconds,
                    "while an answer was awaited")
            }
        }
    }

    /// Sends requests. Returns false when the connection has ended.
    mutating func ask(_ wanted: [ReadingPlan.Wanted], isFirst: Bool, isLast: Bool) throws -> Bool {
        var out: [UInt8] = []
        if !isHTTP, isFirst { out += helloFrame }
        for (index, one) in wanted.enumerated() {
            let saysLast = isLast && index == wanted.count - 1
            if isHTTP {
                out += Self.request(one, isLast: saysLast)
            } else {
                let range = one.range.map {
                    WireRange(first: UInt64($0.lowerBound), count: UInt64($0.count))
                }
                try RequestFrame.compose(
                    .get, flags: Get.flags(acceptsGzip: one.acceptsGzip, range: range),
                    requestID: UInt32(index + 1), into: &out
                ) { (head) throws(ProtocolError) in
                    try Get.Request.compose(
                        id: Edition.name(of: one.id), range: range, into: &head)
                }
            }
        }
        quietMilliseconds = Clock.milliseconds() - movedAt
        let isSent = try socket.sendAll(
            out, answers: &input, milliseconds: Self.patienceMilliseconds)
        if isSent { movedAt = Clock.milliseconds() }
        // HTTP has said so in the request, and the binary protocol has no other way.
        if isLast, !isHTTP { socket.finishSending() }
        return isSent
    }

    private static func request(_ wanted: ReadingPlan.Wanted, isLast: Bool) -> [UInt8] {
        let range = wanted.range.map { "Range: bytes=\($0.lowerBound)-\($0.upperBound - 1)" }
        let fields = [
            range, wanted.acceptsGzip ? "Accept-Encoding: gzip" : nil,
            isLast ? "Connection: close" : nil,
        ]
        let target = "/v1/notifications/\(Edition.name(of: wanted.id))/payload"
        return HTTPClient.request("GET", target, fields.compactMap { $0 })
    }

    // MARK: Without reading

    /// How many bytes lie in the socket (`MSG_PEEK`), up to 256 KiB: more than it takes.
    func queuedByteCount() -> Int {
        withUnsafeTemporaryAllocation(byteCount: 256 << 10, alignment: 16) { buffer in
            // Fills the buffer, which nobody looks at.
            max(0, recv(socket.descriptor, buffer.baseAddress, buffer.count, Int32(MSG_PEEK)))
        }
    }

    /// Whether the daemon has closed its side: no more will come than lies in the socket.
    func isClosedByDaemon() -> Bool {
        // POLLRDHUP, which is only declared for GNU sources.
        let closed: Int16 = 0x2000
        var entry = pollfd(fd: socket.descriptor, events: closed, revents: 0)
        return poll(&entry, 1, 0) > 0 && entry.revents & closed != 0
    }
}
