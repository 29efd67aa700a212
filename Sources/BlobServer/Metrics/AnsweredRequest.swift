import BlobProtocol
import BlobStore
import Bytes
import Synchronization

/// What a log says of a request: nothing that is secret, no payload.
struct LoggedRequest: Sendable {
    /// The most of a request's target that a log shows, in bytes.
    static let targetByteCountMax = 1_024

    /// HTTP's method, or the name of the binary operation.
    let method: StaticString
    /// `HTTP/1.1`, or `blobd`.
    let version: StaticString
    let isDevice: Bool
    let userID: UInt32
    /// An id; nil: the target is what was sent.
    private let name: String?
    // Most requests are not logged, and cost a copy of these, but no text.
    private var sentTarget: [UInt8] = []
    private var sentAgent: [UInt8] = []

    init(
        method: StaticString, target: String, version: StaticString, isDevice: Bool = false,
        userID: UInt32 = 0
    ) {
        (self.method, self.version, name) = (method, version, target)
        (self.isDevice, self.userID) = (isDevice, userID)
    }

    /// A request of HTTP, with its path and its query as they were sent.
    init(
        method: StaticString, sent target: RawSpan, agent: RawSpan, version: StaticString,
        isDevice: Bool, userID: UInt32
    ) {
        (self.method, self.version, name) = (method, version, nil)
        (self.isDevice, self.userID) = (isDevice, userID)
        sentTarget = target.array()
        sentAgent = agent.array()
    }

    /// An id, or the path and the query without that of a signed link (``LinkRedaction``).
    var target: String {
        if let name { return name }
        let sent = sentTarget.span.bytes
        let visible = LinkRedaction.visibleByteCount(of: sent, isDevice: isDevice)
        return Self.text(sent.extracting(first: visible))
    }

    var userAgent: String { Self.text(sentAgent.span.bytes) }

    /// A text as it may be logged: of so many bytes, what is not printable ASCII as a question mark.
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

/// A request that was answered: what the access log, the log of slow requests and the list of the slowest say.
struct AnsweredRequest: Sendable {
    var operation: Operation
    var status: UInt16
    var code: ErrorCode?
    /// From when the worker learnt of it until it was answered.
    var nanoseconds: Int64
    var request: LoggedRequest?
    let at = Timestamp.now

    /// What it asked for, in words; empty where that is not known.
    var target: String { request.map { "\($0.method) \($0.target)" } ?? "" }
}

/// The slowest requests that one worker has answered lately. The worker adds; any thread reads.
final class SlowestRequests: Sendable {
    /// How many are remembered, for how long, and from which duration on.
    static let countMax = 5
    private static let keptMilliseconds: Int64 = 60_000
    private static let nanosecondsFloor: Int64 = 1_000_000

    private let requests = Mutex<[AnsweredRequest]>([])
    private let floor = Atomic(SlowestRequests.nanosecondsFloor)

    /// What is shorter is not among them.
    var nanosecondsMin: Int64 { floor.load(ordering: .relaxed) }

    /// Adds one, in the place of the fastest where there are enough, and forgets old ones.
    func note(_ request: AnsweredRequest) {
        let next = requests.withLock { requests in
            requests.removeAll { Self.isOld($0, request.at) }
            requests.append(request)
            requests.sort { $0.nanoseconds > $1.nanoseconds }
            if requests.count > Self.countMax { requests.removeLast() }
            guard requests.count == Self.countMax else {
                return Self.nanosecondsFloor
            }
            return max(Self.nanosecondsFloor, requests[requests.count - 1].nanoseconds)
        }
        floor.store(next, ordering: .relaxed)
    }

    /// Those of the last minute, the slowest first. Forgets older ones.
    func latest(asOf now: Timestamp) -> [AnsweredRequest] {
        let (latest, isShort) = requests.withLock { requests in
            requests.removeAll { Self.isOld($0, now) }
            return (requests, requests.count < Self.countMax)
        }
        if isShort { floor.store(Self.nanosecondsFloor, ordering: .relaxed) }
        return latest
    }

    private static func isOld(_ request: AnsweredRequest, _ now: Timestamp) -> Bool {
        now.milliseconds - request.at.milliseconds > Self.keptMilliseconds
    }
}
