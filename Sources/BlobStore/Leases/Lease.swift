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
    private let counts = Mutex(LeaseCounts())
    private let neverEnds = Atomic<Bool>(false)

    func take(_ number: UInt64) {
        counts.withLock { $0.add(number) }
    }

    func release(_ number: UInt64) {
        guard !neverEnds.load(ordering: .acquiring) else { return }
        counts.withLock { $0.remove(number) }
    }

    /// From now on no lease ends.
    func keepAll() { neverEnds.store(true, ordering: .releasing) }

    func isHeld(_ number: UInt64) -> Bool {
        // Built with this condition, by `Scripts/torture churn --without-leases` and nothing else,
        // leases keep nothing: readers must then be seen to get wrong bytes, or the test that
        // compares them proves nothing.
        #if BLOBD_WITHOUT_LEASES
        false
        #else
        counts.withLock { $0.contains(number) }
        #endif
    }

    /// How many leases are held.
    var count: Int {
        counts.withLock { $0.total }
    }
}

extension BlobStore {
    /// Lets no lease end any more, for as long as the store is open: to be called before whoever
    /// has sent pages lets go of the sockets that tell when they have been read.
    ///
    /// A server that stops closes its connections while changes are still applied, and those free
    /// and use again what nothing keeps. What is held in the end is freed by the next run, when it
    /// may be.
    public func keepLeases() { leases.keepAll() }
}
