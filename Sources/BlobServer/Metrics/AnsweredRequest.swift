import BlobProtocol
import BlobStore
import Bytes
import Synchronization

/// What a log may show of a request: no secrets, no payload.
struct LoggedRequest: Sendable {
    /// The most bytes of a request's target that a log shows.
    static let targetByteCountMax = 1_024

    /// The method of HTTP, or the name of the binary operation.
    let method: StaticString
    /// `HTTP/1.1`, or `blobd`.
    let version: StaticString
    let isDevice: Bool
    let userID: UInt32
    /// An id; nil: the target is ``sentTarget``.
    private let name: String?
    // Copied as bytes: most requests are not logged, and need no text.
    private var sentTarget: [UInt8] = []
    private var sentAgent: [UInt8] = []

    init(
        method: StaticString, target: String, version: StaticString, isDevice: Bool = false,
        userID: UInt32 = 0
    ) {
        (self.method, self.version, name) = (method, version, target)
        (self.isDevice, self.userID) = (isDevice, userID)
    }

    /// An HTTP request, with its path and query as sent.
    init(
        method: StaticString, sent target: RawSpan, agent: RawSpan, version: StaticString,
        isDevice: Bool, userID: UInt32
    ) {
        (self.method, self.version, name) = (method, version, nil)
        (self.isDevice, self.userID) = (isDevice, userID)
        sentTarget = target.array()
        sentAgent = agent.array()
    }

    /// An id, or the path and the query, without the query of a signed link (``LinkRedaction``).
    var target: String {
        if let name { return name }
        let sent = sentTarget.span.bytes
        let visible = LinkRedaction.visibleByteCount(of: sent, isDevice: isDevice)
        return Self.text(sent.extracting(first: visible))
    }

    var userAgent: String { Self.text(sentAgent.span.bytes) }

    /// A text for the log: at most ``targetByteCountMax`` bytes, with anything but printable ASCII as question marks.
    static func text(_ bytes: RawSpan) -> String {
        let bytes = bytes.extracting(first: Self.targetByteCountMax)
        var text: [UInt8] = []
        text.reserveCapacity(bytes.byteCount)
        let plain = bytes.printableByteCount
        text.append(contentsOf: bytes.extracting(first: plain))
        for index in plain..<bytes.byteCount {
            let byte = bytes.byte(index)
            text.append((0x20..<0x7F).contains(byte) ? byte : UInt8(ascii: "?"))
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// An answered request, for the access log, the log of slow requests and the list of the slowest.
struct AnsweredRequest: Sendable {
    var operation: Operation
    var status: UInt16
    var code: ErrorCode?
    /// From when the worker learnt of the request until it was answered.
    var nanoseconds: Int64
    var request: LoggedRequest?
    var at = Timestamp.now

    /// The method and target; empty if not known.
    var target: String { request.map { "\($0.method) \($0.target)" } ?? "" }
}

/// The slowest requests that one worker has answered recently. The worker adds to it; any thread reads.
final class SlowestRequests: Sendable {
    /// The number of entries, how long they are kept, and the shortest duration.
    static let countMax = 5
    private static let keptMilliseconds: Int64 = 60_000
    private static let nanosecondsFloor: Int64 = 1_000_000

    private let requests = Mutex<[AnsweredRequest]>([])
    /// Shorter requests are not added: the duration of the fastest if the list is full.
    private let floor = Atomic(SlowestRequests.nanosecondsFloor)
    /// When the oldest of a full list is too old, in milliseconds of wall time.
    private let floorEnd = Atomic<Int64>(.max)

    /// Whether a request that took this long is one of the slowest, those that are too old left aside.
    @inline(__always)
    func takes(_ nanoseconds: Int64) -> Bool {
        guard nanoseconds >= Self.nanosecondsFloor else { return false }
        return nanoseconds >= floor.load(ordering: .relaxed) || takesWithoutOld(nanoseconds)
    }

    @inline(never)
    private func takesWithoutOld(_ nanoseconds: Int64) -> Bool {
        let now = Timestamp.now
        guard now.milliseconds > floorEnd.load(ordering: .relaxed) else { return false }
        _ = latest(asOf: now)
        return nanoseconds >= floor.load(ordering: .relaxed)
    }

    /// Adds a request, replacing the fastest if the list is full, and removes old ones.
    func note(_ request: AnsweredRequest) {
        requests.withLock { requests in
            requests.removeAll { Self.isOld($0, request.at) }
            requests.append(request)
            requests.sort { $0.nanoseconds > $1.nanoseconds }
            if requests.count > Self.countMax { requests.removeLast() }
            setFloor(requests)
        }
    }

    /// The requests of the last minute, slowest first. Removes older ones.
    func latest(asOf now: Timestamp) -> [AnsweredRequest] {
        requests.withLock { requests in
            requests.removeAll { Self.isOld($0, now) }
            setFloor(requests)
            return requests
        }
    }

    /// Called under the lock.
    private func setFloor(_ requests: [AnsweredRequest]) {
        let isFull = requests.count == Self.countMax
        let fastest = isFull ? requests[requests.count - 1].nanoseconds : 0
        let oldest = isFull ? requests.map(\.at.milliseconds).min() : nil
        floor.store(max(Self.nanosecondsFloor, fastest), ordering: .relaxed)
        floorEnd.store(oldest.map { $0 + Self.keptMilliseconds } ?? .max, ordering: .relaxed)
    }

    private static func isOld(_ request: AnsweredRequest, _ now: Timestamp) -> Bool {
        now.milliseconds - request.at.milliseconds > keptMilliseconds
    }
}
