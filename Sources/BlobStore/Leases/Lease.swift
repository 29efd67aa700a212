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

/// What keeps blobs from being freed: how many leases each has, and what earlier runs may have sent zero-copy.
final class LeaseTable: Sendable {
    private let counts = Mutex(LeaseCounts())
    /// The first number of each backup's store that has no lease of it.
    private let backups = Mutex<[UInt64]>([])
    private let neverEnds = Atomic<Bool>(false)
    /// Blobs of this number and above are not freed: their bytes are yet to be shipped.
    let keepsFrom = Atomic<UInt64>(.max)
    /// What earlier runs may have sent zero-copy; nil while this one sends nothing so.
    let zeroCopyGrace = Mutex<ZeroCopyGrace?>(nil)
    /// Whether this process may send zero-copy: its start is on disk.
    let allowsZeroCopy = Atomic(false)

    func take(_ number: UInt64) {
        counts.withLock { $0.add(number) }
    }

    func release(_ number: UInt64) {
        guard !neverEnds.load(ordering: .acquiring) else { return }
        counts.withLock { $0.remove(number) }
    }

    /// Keeps every blob before a number, for a backup.
    func takeAll(before number: UInt64) {
        backups.withLock { $0.append(number) }
    }

    /// Ends what ``takeAll(before:)`` began; nothing where it did not.
    func releaseAll(before number: UInt64) {
        backups.withLock { numbers in
            if let index = numbers.firstIndex(of: number) { numbers.remove(at: index) }
        }
    }

    func keepAll() { neverEnds.store(true, ordering: .releasing) }

    func isHeld(_ number: UInt64) -> Bool {
        // Built with this condition, by `Scripts/torture churn --without-leases` and nothing else,
        // leases keep nothing: readers must then be seen to get wrong bytes, or the test that
        // compares them proves nothing.
        #if BLOBD_WITHOUT_LEASES
        false
        #else
        counts.withLock { $0.contains(number) }
            || backups.withLock { $0.contains { number < $0 } }
            || number >= keepsFrom.load(ordering: .acquiring)
        #endif
    }

    /// What may be freed now. Ask before the transaction that frees begins. `oldestViewed`: the oldest commit
    /// that a snapshot of this process may be seeing. It is looked up before leases are: a lease is taken while
    /// the view it came from is still open.
    func freeingRule(oldestViewed: UInt64, bootMilliseconds: Int64?) -> FreeingRule {
        FreeingRule(
            oldestViewed: oldestViewed, leases: self, zeroCopyGrace: zeroCopyGrace.withLock { $0 },
            bootMilliseconds: bootMilliseconds)
    }

    var count: Int {
        counts.withLock { $0.total }
    }
}
