import Synchronization

/// What all clients of a bucket did, for metrics. Each count is exact; they are not of one moment.
package final class ObjectStoreCounters: Sendable {
    package struct Counts: Sendable, Equatable {
        /// HTTP requests that were sent, each attempt by itself: what a bucket is paid for.
        package var requests = 0
        /// Requests without an answer, and with one that is an error. A missing key, and 412 for a conditional put, are none.
        package var errors = 0
        package var retries = 0
        package var bytesUp = 0
        package var bytesDown = 0
    }

    private let counts = Mutex<[ObjectOperation: Counts]>([:])

    package init() {}

    package subscript(operation: ObjectOperation) -> Counts {
        counts.withLock { $0[operation] ?? Counts() }
    }

    func add(
        _ count: Int = 1, to field: WritableKeyPath<Counts, Int>, of operation: ObjectOperation
    ) {
        counts.withLock { $0[operation, default: Counts()][keyPath: field] += count }
    }
}

package enum ObjectOperation: String, CaseIterable, Sendable {
    case get, put, list, delete
}
