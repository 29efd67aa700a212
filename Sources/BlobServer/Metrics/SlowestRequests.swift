import BlobStore
import Synchronization

/// A request that took long.
struct SlowRequest: Sendable {
    var operation: Operation
    var status: UInt16
    var nanoseconds: Int64
    /// What it asked for, as a log names it; empty where that is not known.
    var target: String
    /// When it was answered.
    var at: Timestamp
}

/// The slowest requests that one worker has answered lately. The worker adds; any thread reads.
final class SlowestRequests: Sendable {
    /// How many are remembered, for how long, and from which duration on.
    static let countMax = 5
    private static let keptMilliseconds: Int64 = 60_000
    private static let nanosecondsFloor: Int64 = 1_000_000

    private let requests = Mutex<[SlowRequest]>([])
    private let floor = Atomic(SlowestRequests.nanosecondsFloor)

    /// What is shorter is not among them.
    var nanosecondsMin: Int64 { floor.load(ordering: .relaxed) }

    /// Adds one, in the place of the fastest where there are enough, and forgets old ones.
    func note(_ request: SlowRequest) {
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
    func latest(asOf now: Timestamp) -> [SlowRequest] {
        let (latest, isShort) = requests.withLock { requests in
            requests.removeAll { Self.isOld($0, now) }
            return (requests, requests.count < Self.countMax)
        }
        if isShort { floor.store(Self.nanosecondsFloor, ordering: .relaxed) }
        return latest
    }

    private static func isOld(_ request: SlowRequest, _ now: Timestamp) -> Bool {
        now.milliseconds - request.at.milliseconds > Self.keptMilliseconds
    }
}
