import BlobStore
import Synchronization

/// The requests of one worker that were answered, by operation and status. The worker adds; any thread
/// reads.
///
/// Fetches that were answered with bytes have counters of their own, which cost what one addition does.
/// All others take a lock that nobody else wants.
final class RequestCounters: Sendable {
    /// Fetches that were answered with 200.
    let fetches = Counter()
    /// Those with a range (206), and those whose client has the bytes (304).
    let partialFetches = Counter()
    let unmodifiedFetches = Counter()
    /// How long these took: from the moment the worker learnt of them until their answers were handed
    /// to the kernel. Those that are answered in one batch are noted with one time.
    let fetchDurations = DurationHistogram()

    private let others = Mutex(RequestFigures())

    /// Fetches with bytes, and those whose client has them.
    var fetchCount: Int { fetches.total &+ partialFetches.total &+ unmodifiedFetches.total }

    /// Counts a fetch that was answered with 200, 206 or 304.
    @inline(__always)
    func countFetch(status: UInt16) {
        switch status {
        case 200: fetches.add()
        case 206: partialFetches.add()
        default: unmodifiedFetches.add()
        }
    }

    /// Counts any other answer.
    func count(_ operation: Operation, status: UInt16, nanoseconds: Int64) {
        others.withLock { figures in
            figures.counts[RequestKey(operation: operation, status: status), default: 0] += 1
            if operation.isTimed {
                figures.durations[operation, default: DurationFigures()].add(nanoseconds)
            }
        }
    }

    /// All that were answered.
    var figures: RequestFigures {
        var figures = others.withLock { $0 }
        for (status, count) in [
            (200, fetches.total), (206, partialFetches.total), (304, unmodifiedFetches.total),
        ] where count > 0 {
            figures.counts[RequestKey(operation: .fetch, status: UInt16(status)), default: 0] +=
                count
        }
        figures.durations[.fetch, default: DurationFigures()].add(fetchDurations.figures)
        return figures
    }
}

/// What is counted together.
struct RequestKey: Hashable, Sendable {
    var operation: Operation
    /// HTTP's number, in both dialects.
    var status: UInt16
}

/// How many requests were answered, and how long they took.
struct RequestFigures: Sendable {
    var counts: [RequestKey: Int] = [:]
    var durations: [Operation: DurationFigures] = [:]

    /// All of them.
    var total: Int { counts.values.reduce(0, +) }

    mutating func add(_ other: RequestFigures) {
        counts.merge(other.counts, uniquingKeysWith: +)
        for (operation, figures) in other.durations {
            durations[operation, default: DurationFigures()].add(figures)
        }
    }
}
