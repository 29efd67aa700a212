import Synchronization

/// What all clients of a bucket did, for metrics. Each count is exact; they are not of one moment.
package final class ObjectStoreCounters: Sendable {
    /// The counts of one operation.
    package struct Counts: Sendable, Equatable {
        /// HTTP requests that were sent, each attempt by itself: what a bucket is paid for.
        package var requests = 0
        /// Requests without an answer, and with one that is an error. A missing key, and 412 for a conditional put, are none.
        package var errors = 0
        package var retries = 0
        package var bytesUp = 0
        package var bytesDown = 0
    }

    private final class Cell: Sendable {
        let value = Atomic(0)
    }

    enum Field: Int, CaseIterable {
        case requests, errors, retries, bytesUp, bytesDown
    }

    /// One for each operation and field.
    private let cells = (0..<ObjectOperation.allCases.count * Field.allCases.count).map { _ in
        Cell()
    }

    package init() {}

    private func cell(_ operation: ObjectOperation, _ field: Field) -> Cell {
        cells[operation.index * Field.allCases.count + field.rawValue]
    }

    package subscript(operation: ObjectOperation) -> Counts {
        func load(_ field: Field) -> Int { cell(operation, field).value.load(ordering: .relaxed) }
        return Counts(
            requests: load(.requests), errors: load(.errors), retries: load(.retries),
            bytesUp: load(.bytesUp), bytesDown: load(.bytesDown))
    }

    func add(_ field: Field, _ operation: ObjectOperation, count: Int = 1) {
        guard count > 0 else { return }
        cell(operation, field).value.wrappingAdd(count, ordering: .relaxed)
    }
}

/// What clients ask of a bucket.
package enum ObjectOperation: String, CaseIterable, Sendable {
    case get, put, list, delete

    /// Its place in ``allCases``.
    var index: Int {
        switch self {
        case .get: 0
        case .put: 1
        case .list: 2
        case .delete: 3
        }
    }
}
