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
    private let requests = Mutex<[SlowRequest]>([])
    private let floor = Atomic(DaemonLimits.slowestNanosecondsMin)

    /// What is shorter is not among them.
    var nanosecondsMin: Int64 { floor.load(ordering: .relaxed) }

    /// Adds one, in the place of the fastest where there are enough, and forgets old ones.
    func note(_ request: SlowRequest) {
        let next = requests.withLock { requests in
            requests.removeAll { Self.isOld($0, request.at) }
            requests.append(request)
            requests.sort { $0.nanoseconds > $1.nanoseconds }
            if requests.count > DaemonLimits.slowestCountMax { requests.removeLast() }
            guard requests.count == DaemonLimits.slowestCountMax else {
                return DaemonLimits.slowestNanosecondsMin
            }
            return max(DaemonLimits.slowestNanosecondsMin, requests[requests.count - 1].nanoseconds)
        }
        floor.store(next, ordering: .relaxed)
    }

    /// Those of the last minute, the slowest first. Forgets older ones.
    func latest(asOf now: Timestamp) -> [SlowRequest] {
        let (latest, isShort) = requests.withLock { requests in
            requests.removeAll { Self.isOld($0, now) }
            return (requests, requests.count < DaemonLimits.slowestCountMax)
        }
        if isShort { floor.store(DaemonLimits.slowestNanosecondsMin, ordering: .relaxed) }
        return latest
    }

    private static func isOld(_ request: SlowRequest, _ now: Timestamp) -> Bool {
        now.milliseconds - request.at.milliseconds > DaemonLimits.slowestMilliseconds
    }
}
