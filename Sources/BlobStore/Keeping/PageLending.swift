internal import LMDB
internal import Synchronization

/// Which orphans may have pages with the peers of a run that has ended.
///
/// `sendfile` lends pages of `data.mdb` to the receiver's socket queue, and the receiver may read
/// them after the sender is gone. While a process lives its leases say which blobs those are. What
/// the runs before it lent is not known; so whatever they could have lent stays as it is until
/// their peers have had a while to read.
struct PageLending {
    private let log: StartLog
    private let graceMilliseconds: Int64
    /// Blobs from this number on are this run's: no earlier one lent them.
    private let firstOwnNumber: UInt64

    init(log: StartLog, graceMilliseconds: Int64, firstOwnNumber: UInt64) {
        self.log = log
        self.graceMilliseconds = graceMilliseconds
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
        let end: StartLog.Start?
        if let earlier = log.end(of: entry.transaction) {
            end = earlier
        } else if number >= firstOwnNumber {
            return true
        } else {
            end = log.starts.last
        }
        guard let end, end.moment > 0 else { return true }
        guard let now = bootMilliseconds else { return false }
        let (waited, overflow) = now.subtractingReportingOverflow(end.moment)
        return !overflow && waited >= graceMilliseconds
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
    /// The start is written to the store, for the runs to come: one commit. A run that starts again
    /// and again does not keep space from being freed, because what an earlier run left behind
    /// waits for that run's end only, and not for the later ones.
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
            let (log, firstOwnNumber) = try withSnapshot { (snapshot) throws(StoreError) in
                (
                    try snapshot.starts(with: now, graceMilliseconds: graceMilliseconds),
                    try snapshot.counters().nextBlobNumber
                )
            }
            lending.withLock {
                $0 = PageLending(
                    log: log, graceMilliseconds: graceMilliseconds, firstOwnNumber: firstOwnNumber)
            }
            try inTransaction(
                growth: 0, asOf: Timestamp(milliseconds: 0), isPublishing: false
            ) { (transaction) throws(StoreError) in
                try transaction.setMeta(StartLog.name, to: log.bytes)
            }
            hasBegunLending.store(true, ordering: .releasing)
        }
    }
}

extension Snapshot {
    /// The log of starts, with a new one that comes after all that this snapshot has.
    fileprivate borrowing func starts(
        with now: BootTime, graceMilliseconds: Int64
    ) throws(StoreError) -> StartLog {
        let name = Array(StartLog.name.utf8)
        var start = StartLog.Start(transaction: transaction.id, moment: max(1, now.milliseconds))
        guard let value = try transaction.view.get(name.span.bytes, in: store.tables.meta) else {
            // No run before this one lent anything.
            start.moment = 0
            return StartLog(bootID: now.bootID, starts: [start])
        }
        guard var log = try? StartLog(value) else {
            // Who lent what is not known, so all of it counts as lent until now.
            return StartLog(bootID: now.bootID, starts: [start])
        }
        guard log.bootID == now.bootID else {
            start.moment = 0
            return StartLog(bootID: now.bootID, starts: [start])
        }
        log.add(start, graceMilliseconds: graceMilliseconds)
        return log
    }
}
