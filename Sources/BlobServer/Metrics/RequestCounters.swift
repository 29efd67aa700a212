import BlobProtocol
import BlobStore
import Synchronization

/// The requests that one worker has answered. Fetches answered with bytes have separate counters, which cost one
/// addition. Others take an uncontended lock.
final class RequestCounters: Sendable {
    let fetches = Counter()
    /// Fetches with a range (206), and those whose client has the bytes (304).
    let partialFetches = Counter()
    let unmodifiedFetches = Counter()
    /// From when the worker learnt of a fetch until the kernel had its answer.
    let fetchDurations = DurationHistogram()

    private struct Entry {
        let key: RequestKey
        var count = 0
        var durations = DurationFigures()
    }

    /// A list, since a worker answers with few pairs of an operation and a status, and hashing takes longer.
    private let others = Mutex<[Entry]>([])

    var fetchCount: Int { fetches.total &+ partialFetches.total &+ unmodifiedFetches.total }

    @inline(__always)
    func countFetch(status: UInt16) {
        switch status {
        case 200: fetches.add()
        case 206: partialFetches.add()
        default: unmodifiedFetches.add()
        }
    }

    func count(_ operation: Operation, status: UInt16, nanoseconds: Int64) {
        let key = RequestKey(operation: operation, status: status)
        others.withLock { entries in
            let known = entries.firstIndex { $0.key == key }
            if known == nil { entries.append(Entry(key: key)) }
            let index = known ?? entries.count - 1
            entries[index].count += 1
            if operation.isTimed { entries[index].durations.add(nanoseconds) }
        }
    }

    var figures: RequestFigures {
        var figures = RequestFigures()
        for entry in others.withLock({ $0 }) {
            figures.counts[entry.key] = entry.count
            guard entry.key.operation.isTimed else { continue }
            figures.durations[entry.key.operation, default: DurationFigures()].add(entry.durations)
        }
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

struct RequestKey: Hashable, Sendable {
    var operation: Operation
    /// The HTTP status, in both dialects.
    var status: UInt16
}

struct RequestFigures: Sendable {
    var counts: [RequestKey: Int] = [:]
    var durations: [Operation: DurationFigures] = [:]

    var total: Int { counts.values.reduce(0, +) }

    mutating func add(_ other: RequestFigures) {
        counts.merge(other.counts, uniquingKeysWith: +)
        for (operation, figures) in other.durations {
            durations[operation, default: DurationFigures()].add(figures)
        }
    }
}

/// The operation of a request in metrics and logs.
package enum Operation: String, CaseIterable, Sendable {
    /// A payload's bytes: by its notification, by digest or by a signed link.
    case fetch
    /// Storing a payload or a whole notification.
    case publish
    case batch
    case record
    case patch
    case delete
    /// A page of records: all of them, or an owner's.
    case list
    /// A page of an owner's changes, answered at once.
    case changes
    /// A page of changes, after a wait.
    case wait
    /// A stream of changes, counted when it begins.
    case watch
    /// A user's response to a notification's action.
    case respond
    case envelope
    /// Holding a blob, or asking about one.
    case blob
    case category
    case stats
    case metrics
    case openapi
    /// `/livez`, `/readyz`, ping and hello.
    case probe
    /// A backup, counted when it begins.
    case backup
    /// Starting a scrub, or asking about it.
    case scrub
    /// Asking about replication, or taking the lead.
    case replication
    /// An unreadable request, or one that names no resource.
    case unknown

    /// Whether its duration is the daemon's, rather than the time that a client chose to wait or read.
    package var isTimed: Bool {
        switch self {
        case .wait, .watch, .backup, .replication: false
        default: true
        }
    }
}
