import BlobProtocol
import BlobStore
import Synchronization

/// The requests of one worker that were answered. Fetches that were answered with bytes have counters of their own,
/// which cost one addition. All others take a lock that nobody else wants.
final class RequestCounters: Sendable {
    let fetches = Counter()
    /// Those with a range (206), and those whose client has the bytes (304).
    let partialFetches = Counter()
    let unmodifiedFetches = Counter()
    /// From the moment the worker learnt of them until their answers were handed to the kernel.
    let fetchDurations = DurationHistogram()

    private let others = Mutex(RequestFigures())

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
        others.withLock { figures in
            figures.counts[RequestKey(operation: operation, status: status), default: 0] += 1
            if operation.isTimed {
                figures.durations[operation, default: DurationFigures()].add(nanoseconds)
            }
        }
    }

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

struct RequestKey: Hashable, Sendable {
    var operation: Operation
    /// HTTP's number, in both dialects.
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

/// What a request asks for, as metrics and logs name it.
package enum Operation: String, CaseIterable, Sendable {
    /// A payload's bytes: by its notification, by digest or by a signed link.
    case fetch
    /// A payload or a whole notification is stored.
    case publish
    case batch
    case record
    case patch
    case delete
    /// A page of records: all of them, or an owner's.
    case list
    /// A page of an owner's changes that is there.
    case changes
    /// A page of changes that was waited for.
    case wait
    /// A stream of changes: counted when it begins.
    case watch
    /// An answer of a user to a notification's action.
    case respond
    case envelope
    /// A blob is held, or asked about.
    case blob
    case category
    case stats
    case metrics
    case openapi
    /// `/livez`, `/readyz`, ping and hello.
    case probe
    /// A backup: counted when it begins.
    case backup
    /// Reading the store again is begun, or asked about.
    case scrub
    /// The replication is asked about, or this daemon is to take the lead.
    case replication
    /// What could not be read, or names no resource.
    case unknown

    /// Whether its time is the daemon's, and not how long a client chose to wait or to read.
    package var isTimed: Bool {
        switch self {
        case .wait, .watch, .backup, .replication: false
        default: true
        }
    }
}
