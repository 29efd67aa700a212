internal import CLMDB
internal import Synchronization

/// The read transactions of one environment: begun once, then reset and renewed (`mdb_txn_reset`,
/// `mdb_txn_renew`), so that a view costs no allocation and no lock of LMDB's.
///
/// It also knows the oldest view this process has open, which is what decides when an orphan may be
/// freed.
@safe package final class ReaderPool: @unchecked Sendable {
    // Sendable: `free` is behind its lock and the marks are atomic. A transaction is touched only
    // by whoever took its slot from `free`, on any thread, which MDB_NOTLS allows.
    private let environment: EnvironmentHandle
    private let free: Mutex<[Int]>
    private let transactions: UnsafeMutablePointer<OpaquePointer?>
    private let marks: UnsafeMutablePointer<Atomic<UInt64>>

    /// How many views may be open at once.
    package let capacity: Int

    /// No view is open in this slot.
    private static let idle = UInt64.max
    /// A view is being opened: which commit it will see is not known yet.
    private static let opening: UInt64 = 0
    /// Marks stand a cache line apart, so that threads do not slow each other.
    private static let stride = 8

    init(_ environment: EnvironmentHandle, capacity: Int) {
        self.environment = environment
        self.capacity = capacity
        free = Mutex((0..<capacity).reversed())
        unsafe transactions = .allocate(capacity: capacity)
        unsafe transactions.initialize(repeating: nil, count: capacity)
        unsafe marks = .allocate(capacity: capacity * Self.stride)
        for index in 0..<capacity * Self.stride {
            unsafe (marks + index).initialize(to: Atomic(Self.idle))
        }
    }

    deinit {
        // Nobody is in here: each transaction that is out holds its pool. The environment is closed
        // after this, if at all.
        for slot in 0..<capacity {
            if let handle = unsafe transactions[slot] { unsafe mdb_txn_abort(handle) }
        }
        unsafe transactions.deallocate()
        unsafe marks.deinitialize(count: capacity * Self.stride)
        unsafe marks.deallocate()
    }

    /// Opens a view of the last commit.
    ///
    /// - Throws: `MDB_READERS_FULL` when `capacity` views are open at once.
    @inline(__always)
    package func begin() throws(LMDBError) -> ReadTransaction {
        guard let slot = free.withLock({ $0.popLast() }) else {
            throw LMDBError(code: MDB_READERS_FULL, call: "mdb_txn_begin")
        }
        // Marked before the view exists: whoever asks for the oldest one meanwhile is told to wait.
        mark(slot, Self.opening)
        let code =
            if let idle = unsafe transactions[slot] {
                unsafe mdb_txn_renew(idle)
            } else {
                unsafe mdb_txn_begin(
                    environment.pointer, nil, UInt32(MDB_RDONLY), &transactions[slot])
            }
        guard code == MDB_SUCCESS, let handle = unsafe transactions[slot] else {
            abandon(slot)
            throw LMDBError(code: code, call: "mdb_txn_renew")
        }
        unsafe mark(slot, UInt64(mdb_txn_id(handle)))
        return unsafe ReadTransaction(handle: handle, pool: self, slot: slot)
    }

    @inline(__always)
    func giveBack(_ handle: OpaquePointer, slot: Int) {
        unsafe mdb_txn_reset(handle)
        mark(slot, Self.idle)
        free.withLock { $0.append(slot) }
    }

    /// A transaction that could not be renewed is aborted; its slot begins a new one next time.
    private func abandon(_ slot: Int) {
        if let broken = unsafe transactions[slot] { unsafe mdb_txn_abort(broken) }
        unsafe transactions[slot] = nil
        mark(slot, Self.idle)
        free.withLock { $0.append(slot) }
    }

    @inline(__always)
    private func mark(_ slot: Int, _ value: UInt64) {
        unsafe marks[slot * Self.stride].store(value, ordering: .sequentiallyConsistent)
    }

    /// The oldest commit a view of this process may still be seeing; `UInt64.max` when none is
    /// open, 0 while one is being opened. Costs a look at every slot.
    package var oldestViewed: UInt64 {
        var oldest = UInt64.max
        for slot in 0..<capacity {
            let mark = unsafe marks[slot * Self.stride].load(ordering: .sequentiallyConsistent)
            oldest = min(oldest, mark)
        }
        return oldest
    }
}
