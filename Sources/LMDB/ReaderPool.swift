internal import CLMDB
internal import Synchronization

/// The read transactions of one environment: begun once, then reset and renewed (`mdb_txn_reset`,
/// `mdb_txn_renew`), so that a view costs no allocation and no lock, neither ours nor LMDB's.
///
/// It also knows the oldest view this process has open, which is what decides when an orphan may be
/// freed.
package final class ReaderPool: Sendable {
    private let environment: EnvironmentHandle

    /// The same pool without a reference to count, for callers that keep this one themselves.
    package let slots: ReaderSlots

    /// How many views may be open at once.
    package var capacity: Int { slots.capacity }

    init(_ environment: EnvironmentHandle, capacity: Int, remembersLookups: Bool) {
        self.environment = environment
        slots = unsafe ReaderSlots(
            environment: environment.pointer, bounds: environment.bounds, capacity: capacity,
            remembersLookups: remembersLookups)
    }

    deinit {
        // No one is in here: whoever has a transaction out keeps the pool. The environment is
        // closed after this, if at all.
        unsafe slots.free()
    }

    /// Opens a view of the last commit, which keeps this pool and with it the environment.
    ///
    /// - Throws: `MDB_READERS_FULL` when `capacity` views are open at once.
    package func begin() throws(LMDBError) -> ReadTransaction { try slots.begin(keeping: self) }

    /// The oldest commit a view of this process may still be seeing; `UInt64.max` when none is
    /// open, 0 while one is being opened. Costs a look at every slot that was ever tried.
    package var oldestViewed: UInt64 { slots.oldestViewed }
}
