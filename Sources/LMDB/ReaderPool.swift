internal import CLMDB
internal import Synchronization

/// The read transactions of one environment. Each is begun once, then reset and renewed
/// (`mdb_txn_reset`, `mdb_txn_renew`). So a view costs one compare-and-exchange, one store and
/// `mdb_txn_renew`: no allocation, no lock, no counted reference.
///
/// It also knows the oldest view that this process has open. An orphan may be freed only when no
/// view is as old as it.
package final class ReaderPool: Sendable {
    private let environment: EnvironmentHandle

    /// The same pool without reference counting. The caller must keep this one alive.
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
        // No view is open: each keeps a reference to the pool. The environment is closed later.
        unsafe slots.free()
    }

    /// Opens a view of the last commit, which keeps this pool and with it the environment.
    ///
    /// - Throws: `MDB_READERS_FULL` when `capacity` views are open at once.
    package func begin() throws(LMDBError) -> ReadTransaction { try slots.begin(keeping: self) }

    /// The oldest commit that an open view of this process can see; `UInt64.max` when none is open,
    /// 0 while one is being opened. Reads every slot that was ever used.
    package var oldestViewed: UInt64 { slots.oldestViewed }
}
