import Synchronization

/// What all clients of a bucket did, for metrics. Each count is exact; they are not of one moment.
package final class ObjectStoreCounters: Sendable {
    /// The counts of one operation.
    package struct Counts: Sendable, Equatable {
        /// HTTP requests that were sent, each attempt by itself: what a bucket is paid for.
        package var requests = 0
        /// Requests without an answer, and with one that is an error. A missing key, and 412 for a conditional put, are none.
        package var errors = 0
        /// Requests that were sent again.
        package var retries = 0
        /// Bytes of bodies that were sent.
        package var bytesUp = 0
        /// Bytes of bodies that came.
        package var bytesDown = 0
    }

    private let table: Table

    package init() { table = Table() }

    package subscript(operation: ObjectOperation) -> Counts {
        func load(_ field: Field) -> Int {
            table.cell(operation, field).value.load(ordering: .relaxed)
        }
        return Counts(
            requests: load(.requests), errors: load(.errors), retries: load(.retries),
            bytesUp: load(.bytesUp), bytesDown: load(.bytesDown))
    }

    func add(_ field: Field, _ operation: ObjectOperation, count: Int = 1) {
        guard count > 0 else { return }
        table.cell(operation, field).value.wrappingAdd(count, ordering: .relaxed)
    }

    enum Field: Int, CaseIterable {
        case requests, errors, retries, bytesUp, bytesDown
    }

    /// A cell for each operation and field.
    private struct Table: Sendable {
        final class Cell: Sendable {
            let value = Atomic(0)
        }

        let cells: [Cell] = ObjectOperation.allCases.flatMap { _ in
            Field.allCases.map { _ in Cell() }
        }

        func cell(_ operation: ObjectOperation, _ field: Field) -> Cell {
            cells[operation.index * Field.allCases.count + field.rawValue]
        }
    }
}
