internal import LMDB
internal import Synchronization

/// Which orphans may have pages with the peers of a run that has ended.
///
/// `sendfile` lends pages of `data.mdb` to the receiver's socket queue, and the receiver may read
/// them after the sender is gone. While a process lives its leases say which blobs those are. What
/// the runs before it lent is not known; so whatever they could have lent stays as it is until
/// their peers have had a while to read.
struct PageLending {
    private let mark: LendingMark
    private let graceMilliseconds: Int64
    /// When this run began, in milliseconds of the boot clock.
    private let start: Int64
    /// Blobs from this number on are this run's: no earlier one lent them.
    private let firstOwnNumber: UInt64

    init(mark: LendingMark, graceMilliseconds: Int64, start: Int64, firstOwnNumber: UInt64) {
        self.mark = mark
        self.graceMilliseconds = graceMilliseconds
        self.start = start
        self.firstOwnNumber = firstOwnNumber
    }

    /// Whether no peer of an earlier run can be reading it any more.
    ///
    /// - Parameter bootMilliseconds: the boot clock's present; nil counts as the start of this run.
    func isReturned(_ number: UInt64, _ entry: OrphanEntry, bootMilliseconds: Int64?) -> Bool {
        // Nothing ever referred to it, so nobody could ask for it.
        if entry.state == .staged || graceMilliseconds <= 0 { return true }
        // Too short for any stretch of it to be lent.
        if entry.storedByteCount < DataPages.byteCountMin { return true }
        if entry.transaction <= mark.returnedTransaction || number >= firstOwnNumber { return true }
        let moment = entry.transaction <= mark.transaction ? mark.moment : start
        return LendingMark.isOver(graceMilliseconds, after: moment, at: bootMilliseconds)
    }
}

extension BlobStore {
    /// Whether pages of `data.mdb` may be lent: whether this process's start is on disk
    /// (``beginLending(at:graceMilliseconds:)``).
    public var mayLend: Bool { hasBegunLending.load(ordering: .acquiring) }

    /// Says that this process will lend pages of the store to others (`sendfile`), so that freeing
    /// takes the peers of earlier runs into account: what those may have been sent is not freed
    /// until `graceMilliseconds` after the run has ended. Call it once, before anything is lent;
    /// without it, nothing is held back.
    ///
    /// The start is written to the store, for the runs to come: one commit, or none where an earlier
    /// start's grace is not over (``LendingMark``).
    ///
    /// - Parameters:
    ///   - now: the present, by the machine's boot clock. After a boot no peer is left, and nothing
    ///     is held back.
    ///   - graceMilliseconds: how long a peer may take to read what it was sent before its daemon
    ///     ended. 0 or less: nothing is held back.
    /// - Throws: ``StoreError/full`` when the start cannot be written. What earlier runs may have
    ///   lent is held back all the same, but this process must not lend: the next one would not
    ///   know. ``StoreError/corrupt(_:)``, ``StoreError/outcomeUnknown(_:)``.
    public func beginLending(
        at now: BootTime, graceMilliseconds: Int64 = StoreLimits.lendingGraceMilliseconds
    ) throws(StoreError) {
        precondition(!isReadOnly, "the store was opened for reading only")
        try whileWriting { () throws(StoreError) in
            let (old, last, nextBlobNumber) = try withSnapshot { (snapshot) throws(StoreError) in
                (
                    try snapshot.lendingMark(), snapshot.transaction.id,
                    try snapshot.counters().nextBlobNumber
                )
            }
            let moment = now.milliseconds
            var mark = LendingMark(
                bootID: now.bootID, returnedTransaction: last, transaction: last, moment: moment)
            // Who is the first of its boot to lend finds nothing lent.
            var firstOwnNumber: UInt64 = 0
            switch old {
            case .none: break
            case .damaged:
                // Who lent what is not known, so all of it counts as lent until now.
                mark.returnedTransaction = 0
                firstOwnNumber = nextBlobNumber
            case .mark(let old) where old.bootID == now.bootID:
                mark = old.followed(by: last, at: moment, graceMilliseconds: graceMilliseconds)
                firstOwnNumber = nextBlobNumber
            case .mark: break
            }
            lending.withLock {
                $0 = PageLending(
                    mark: mark, graceMilliseconds: graceMilliseconds, start: moment,
                    firstOwnNumber: firstOwnNumber)
            }
            if old != .mark(mark) {
                try inTransaction(
                    growth: 0, asOf: Timestamp(milliseconds: 0), isPublishing: false
                ) { (transaction) throws(StoreError) in
                    try transaction.setMeta(LendingMark.name, to: mark.bytes)
                }
            }
            hasBegunLending.store(true, ordering: .releasing)
        }
    }
}

/// What a store says of what earlier runs lent.
private enum StoredLendingMark: Equatable {
    /// No run lent anything.
    case none
    case mark(LendingMark)
    case damaged
}

extension Snapshot {
    fileprivate borrowing func lendingMark() throws(StoreError) -> StoredLendingMark {
        let name = Array(LendingMark.name.utf8)
        guard let value = try transaction.view.get(name.span.bytes, in: store.tables.meta) else {
            return .none
        }
        guard let mark = try? LendingMark(value) else { return .damaged }
        return .mark(mark)
    }
}
