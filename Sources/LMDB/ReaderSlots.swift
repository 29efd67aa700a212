internal import CLMDB
internal import Glibc
internal import Synchronization

/// The read transactions of one environment, which frees them. Each is begun once, then reset and renewed
/// (`mdb_txn_reset`, `mdb_txn_renew`), so a view costs no allocation, no lock and no counted reference: one
/// compare-and-exchange of a slot's mark, one store, and `mdb_txn_renew`.
///
/// A thread begins with the slot it had last, so that threads do not write to each other's cache lines; where that
/// is taken it looks from the first on. So there are about as many transactions as views were ever open at once,
/// which leaves LMDB's slots to other processes.
@safe package struct ReaderSlots: @unchecked Sendable {
    // Sendable: the pointers never change, what they point to is atomic, and a slot's transaction
    // is touched only by the taker of the slot, on any thread, which MDB_NOTLS allows.
    private let slots: UnsafeMutablePointer<ReaderSlot>
    /// By thread, the number of the slot it had last.
    private let hints: UnsafeMutablePointer<Atomic<Int>>
    /// What is seldom needed; apart, so that this is three words and goes in registers.
    private let rest: UnsafeMutablePointer<Rest>

    @safe private struct Rest: ~Copyable {
        let environment: OpaquePointer
        let capacity: Int
        let remembersLookups: Bool
        /// Slots up to here have been tried, at least.
        let triedCount = Atomic(0)
        /// What each view is given.
        let companion = Atomic<UInt>(0)
    }

    package var capacity: Int { unsafe rest.pointee.capacity }

    /// Threads are told apart by eight bits: two that fall together only change slots more often.
    private static let hintBits = 8

    /// - Parameter locks: kept by the environment; nil in a process that writes.
    init(
        environment: OpaquePointer, bounds: MapBounds, capacity: Int, remembersLookups: Bool,
        locks: ReadLocks?
    ) {
        let locks = unsafe locks.map { unsafe Unmanaged.passUnretained($0) }
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: capacity * MemoryLayout<ReaderSlot>.stride,
            alignment: ReaderSlot.cacheLineByteCount)
        unsafe slots = memory.bindMemory(to: ReaderSlot.self, capacity: capacity)
        for slot in 0..<capacity { unsafe (slots + slot).initialize(to: ReaderSlot(bounds, locks)) }
        unsafe hints = .allocate(capacity: 1 << Self.hintBits)
        for hint in 0..<1 << Self.hintBits { unsafe (hints + hint).initialize(to: Atomic(0)) }
        unsafe rest = .allocate(capacity: 1)
        unsafe rest.initialize(
            to: Rest(
                environment: environment, capacity: capacity, remembersLookups: remembersLookups))
    }

    /// Aborts the transactions and frees the memory. Nothing of this may be used after it.
    @unsafe func free() {
        let capacity = self.capacity
        for slot in 0..<capacity {
            if let handle = unsafe slots[slot].transaction { unsafe mdb_txn_abort(handle) }
            if let cache = unsafe slots[slot].cache { unsafe cache.free() }
        }
        unsafe slots.deinitialize(count: capacity)
        unsafe UnsafeMutableRawPointer(slots).deallocate()
        unsafe hints.deinitialize(count: 1 << Self.hintBits)
        unsafe hints.deallocate()
        unsafe rest.deinitialize(count: 1)
        unsafe rest.deallocate()
    }

    /// Opens a view of the last commit that keeps `keeper`, and with it the environment, until it ends.
    package func begin(keeping keeper: AnyObject) throws(LMDBError) -> ReadTransaction {
        let slot = unsafe try open()
        return unsafe ReadTransaction(slot, keeper: Unmanaged.passRetained(keeper))
    }

    /// Opens a view of the last commit that counts no reference: the caller keeps the environment until
    /// it has ended.
    package func beginUnkept() throws(LMDBError) -> ReadTransaction {
        unsafe ReadTransaction(try open(), keeper: nil)
    }

    /// A slot with a transaction that is renewed.
    @inline(__always)
    private func open() throws(LMDBError) -> UnsafeMutablePointer<ReaderSlot> {
        let slot = unsafe try takeSlot()
        // Once the slot is marked, and before the view exists: see `isGiven`.
        unsafe slot.pointee.companion.store(
            rest.pointee.companion.load(ordering: .acquiring), ordering: .releasing)
        if let idle = unsafe slot.pointee.transaction, unsafe mdb_txn_renew(idle) == MDB_SUCCESS {
            // Which commit it sees is known now. Nothing hangs on when others learn of it: until
            // they do they wait, as for a view that is being opened.
            let commit = unsafe UInt64(truncatingIfNeeded: mdb_txn_id(idle))
            unsafe slot.pointee.begin(commit)
        } else {
            unsafe try beginAnew(slot)
        }
        if unsafe slot.pointee.locks != nil { unsafe try lock(slot) }
        return unsafe slot
    }

    /// Tells the process that writes which commit is viewed, which may be a later one then.
    @inline(never)
    private func lock(_ slot: UnsafeMutablePointer<ReaderSlot>) throws(LMDBError) {
        guard let locks = unsafe slot.pointee.locks,
            let transaction = unsafe slot.pointee.transaction
        else { return }
        do throws(LMDBError) {
            let commit = try unsafe locks.takeUnretainedValue().lock(transaction)
            unsafe slot.pointee.begin(commit)
        } catch {
            unsafe mdb_txn_abort(transaction)
            unsafe slot.pointee.transaction = nil
            unsafe slot.pointee.release()
            throw error
        }
    }

    /// A transaction for a slot that has none, or one that could not be renewed.
    @inline(never)
    private func beginAnew(_ slot: UnsafeMutablePointer<ReaderSlot>) throws(LMDBError) {
        if let broken = unsafe slot.pointee.transaction { unsafe mdb_txn_abort(broken) }
        unsafe slot.pointee.transaction = nil
        let code = unsafe mdb_txn_begin(
            rest.pointee.environment, nil, UInt32(MDB_RDONLY), &slot.pointee.transaction)
        guard code == MDB_SUCCESS, let handle = unsafe slot.pointee.transaction else {
            unsafe slot.pointee.release()
            throw LMDBError(code: code, call: "mdb_txn_begin")
        }
        let commit = unsafe UInt64(mdb_txn_id(handle))
        if unsafe rest.pointee.remembersLookups, unsafe slot.pointee.cache == nil {
            unsafe slot.pointee.cache = LookupCache()
        }
        unsafe slot.pointee.begin(commit)
    }

    /// A slot, marked as one in which a view is being opened. It is marked before the view exists:
    /// a thread that asks for the oldest one meanwhile is told to wait.
    @inline(__always)
    private func takeSlot() throws(LMDBError) -> UnsafeMutablePointer<ReaderSlot> {
        // glibc's thread handles are addresses at even distances; the multiplication (Fibonacci
        // hashing) spreads them over the upper bits.
        let spread = UInt64(pthread_self()) &* 0x9E37_79B9_7F4A_7C15
        let hint = unsafe hints + Int(truncatingIfNeeded: spread >> UInt64(64 - Self.hintBits))
        // A hint is the number of a slot, always.
        let last = unsafe slots + hint.pointee.load(ordering: .relaxed)
        if unsafe last.pointee.take() { return unsafe last }
        return unsafe try takeAnotherSlot(hint)
    }

    @inline(never)
    private func takeAnotherSlot(
        _ hint: UnsafeMutablePointer<Atomic<Int>>
    ) throws(LMDBError) -> UnsafeMutablePointer<ReaderSlot> {
        for number in 0..<capacity {
            // Before the mark: a thread that does not see this comes before the view as well.
            if unsafe rest.pointee.triedCount.load(ordering: .relaxed) <= number {
                unsafe rest.pointee.triedCount.max(number + 1, ordering: .sequentiallyConsistent)
            }
            let slot = unsafe slots + number
            if unsafe slot.pointee.take() {
                unsafe hint.pointee.store(number, ordering: .relaxed)
                return unsafe slot
            }
        }
        throw LMDBError(code: MDB_READERS_FULL, call: "mdb_txn_begin")
    }

    /// What views are given from now on, with their transactions: the address of something that belongs to the last
    /// commit, or 0. A view may have been given the one before, which ``isGiven(_:)`` tells.
    package func setCompanion(_ address: UInt) {
        unsafe rest.pointee.companion.store(address, ordering: .sequentiallyConsistent)
    }

    /// Whether a view of a commit up to `commit` may still have what it was given. Ask for what is not given to such
    /// views any more. Costs a look at every slot that was ever tried; why it is certain, see ``oldestViewed``.
    package func isGiven(_ address: UInt, upTo commit: UInt64 = .max) -> Bool {
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        for number
            in 0..<max(1, unsafe rest.pointee.triedCount.load(ordering: .sequentiallyConsistent))
        {
            let slot = unsafe slots + number
            switch unsafe slot.pointee.mark.load(ordering: .acquiring) {
            case ReaderSlot.idle: continue
            case ReaderSlot.opening: return true
            case let viewed:
                if viewed <= commit,
                    unsafe slot.pointee.companion.load(ordering: .acquiring) == address
                {
                    return true
                }
            }
        }
        return false
    }

    /// The oldest commit a view of this process may still be seeing; `UInt64.max` when none is open, 0 while one is
    /// being opened. Costs a look at every slot that was ever tried.
    ///
    /// A view whose mark is not seen here sees at least what was committed before this was asked: on both sides a
    /// full barrier stands between what is written and what is looked at (the mark, then LMDB's last commit; that
    /// commit, then the marks), so one of the two sees the other.
    package var oldestViewed: UInt64 {
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        var oldest = UInt64.max
        // Slot 0 is every thread's first hint.
        for slot
            in 0..<max(1, unsafe rest.pointee.triedCount.load(ordering: .sequentiallyConsistent))
        {
            // Acquiring: what a view did before it ended, such as taking a lease, is seen after.
            oldest = min(oldest, unsafe slots[slot].mark.load(ordering: .acquiring))
        }
        return oldest
    }
}

/// A place for one view, with cache lines of its own, so that threads do not slow each other.
@safe struct ReaderSlot: ~Copyable {
    /// The commit that is viewed, ``opening`` or ``idle``.
    let mark = Atomic<UInt64>(ReaderSlot.idle)
    /// What the view was given.
    let companion = Atomic<UInt>(0)
    /// Begun, and reset while idle; nil until it is first used.
    var transaction: OpaquePointer?
    /// What its views have found; nil until it is first used, and in processes that only read.
    var cache: LookupCache?
    let bounds: MapBounds
    var roots: TableRoots
    /// Where readers of other processes than the one that writes are known by; nil in that one.
    let locks: Unmanaged<ReadLocks>?

    init(_ bounds: MapBounds, _ locks: Unmanaged<ReadLocks>?) {
        self.bounds = bounds
        unsafe self.locks = locks
        roots = TableRoots(bounds)
    }

    static let idle = UInt64.max
    /// A view is being opened: which commit it will see is not known yet.
    static let opening: UInt64 = 0
    static let cacheLineByteCount = 64

    /// Marks an idle slot as one that opens a view; false when it is not idle.
    @inline(__always)
    borrowing func take() -> Bool {
        guard
            mark.compareExchange(
                expected: Self.idle, desired: Self.opening, ordering: .sequentiallyConsistent
            ).exchanged
        else { return false }
        #if !arch(x86_64)
        // LMDB reads the last commit with plain loads, which must not come before the mark. On
        // x86-64 the exchange is a barrier already.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        #endif
        return true
    }

    @inline(__always)
    mutating func begin(_ commit: UInt64) {
        // Releasing: who sees it sees what the view was given.
        mark.store(commit, ordering: .releasing)
        if let cache { cache.commit = commit }
        // In a process with a cache one number always means one state.
        roots.begin(commit, isSame: cache != nil)
    }

    /// The view has ended. Releasing: a thread that sees this sees what the view did.
    @inline(__always)
    borrowing func release() {
        mark.store(Self.idle, ordering: .releasing)
    }
}
