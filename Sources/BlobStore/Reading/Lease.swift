internal import Synchronization

/// A promise that a blob's chunks stay where they are until this ends, also after the snapshot it
/// was taken in has ended.
///
/// Take it with ``Snapshot/lease(_:)`` while the snapshot that found the blob is open. It keeps
/// space from being freed, not views from moving on: a client that takes an hour to read costs the
/// blob's own bytes and nothing else.
public struct Lease: ~Copyable, Sendable {
    private let table: LeaseTable
    private let number: UInt64

    init(_ number: UInt64, in table: LeaseTable) {
        self.number = number
        self.table = table
        table.take(number)
    }

    deinit {
        table.release(number)
    }
}

/// How many leases each blob has.
final class LeaseTable: Sendable {
    private let counts = Mutex<[UInt64: Int]>([:])

    func take(_ number: UInt64) {
        counts.withLock { $0[number, default: 0] += 1 }
    }

    func release(_ number: UInt64) {
        counts.withLock { counts in
            guard let count = counts[number] else { return }
            counts[number] = count > 1 ? count - 1 : nil
        }
    }

    func isHeld(_ number: UInt64) -> Bool {
        // Built with this condition, by `Scripts/torture churn --without-leases` and nothing else,
        // leases keep nothing: readers must then be seen to get wrong bytes, or the test that
        // compares them proves nothing.
        #if BLOBD_WITHOUT_LEASES
        false
        #else
        counts.withLock { $0[number] != nil }
        #endif
    }

    /// How many leases are held.
    var count: Int {
        counts.withLock { $0.values.reduce(0, +) }
    }
}
