internal import LMDB
internal import Synchronization

extension BlobStore {
    /// Whether pages of `data.mdb` may be sent zero-copy: whether this process's start is on disk
    /// (``allowZeroCopy(at:graceMilliseconds:)``).
    public var allowsZeroCopy: Bool { core.leases.allowsZeroCopy.load(ordering: .acquiring) }

    /// Says that this process will send pages of the store zero-copy (`sendfile`), so that freeing
    /// takes the peers of earlier runs into account: what those may have been sent is not freed
    /// until `graceMilliseconds` after the run has ended. Call it once, before anything is sent;
    /// without it, nothing is held back.
    ///
    /// The start is written to the store, for the runs to come: one commit, or none where an earlier
    /// start's grace is not over.
    ///
    /// - Parameters:
    ///   - now: the present, by the machine's boot clock. After a boot no peer is left, and nothing
    ///     is held back.
    ///   - graceMilliseconds: how long a peer may take to read what it was sent before its daemon
    ///     ended. 0 or less: nothing is held back.
    /// - Throws: ``StoreError/full`` when the start cannot be written. What earlier runs may have
    ///   sent is held back all the same, but this process must not send zero-copy: the next one would not
    ///   know. ``StoreError/corrupt(_:)``, ``StoreError/outcomeUnknown(_:)``.
    public func allowZeroCopy(
        at now: BootTime, graceMilliseconds: Int64 = StoreLimits.zeroCopyGraceMilliseconds
    ) throws(StoreError) {
        try pipeline.whileWriting { () throws(StoreError) in
            let (old, last, nextBlobNumber) = try core.withSnapshot {
                (snapshot) throws(StoreError) in
                let old = Result { () throws(StoreError) in try snapshot.meta(ZeroCopyMark.self) }
                return (old, snapshot.transaction.id, try snapshot.counters().nextBlobNumber)
            }
            let moment = now.milliseconds
            var mark = ZeroCopyMark(
                bootID: now.bootID, returnedTransaction: last, transaction: last, moment: moment)
            // Who is the first of its boot to send zero-copy finds nothing sent.
            var firstOwnNumber: UInt64 = 0
            switch old {
            case .failure:
                // What was sent is not known, so all of it counts as sent until now.
                mark.returnedTransaction = 0
                firstOwnNumber = nextBlobNumber
            case .success(let old?) where old.bootID == now.bootID:
                mark = old.followed(by: last, at: moment, graceMilliseconds: graceMilliseconds)
                firstOwnNumber = nextBlobNumber
            case .success: break
            }
            core.leases.zeroCopyGrace.withLock {
                $0 = ZeroCopyGrace(
                    mark: mark, graceMilliseconds: graceMilliseconds, start: moment,
                    firstOwnNumber: firstOwnNumber)
            }
            if old != .success(mark) {
                try pipeline.inTransaction(isPublishing: false) {
                    (transaction) throws(StoreError) in
                    try transaction.set(mark)
                }
            }
            core.leases.allowsZeroCopy.store(true, ordering: .releasing)
        }
    }

    /// Lets no lease end any more, for as long as the store is open. To be called before the sockets
    /// are closed that pages were sent to: afterwards nothing tells when those have been read.
    ///
    /// A server that stops closes its connections while changes are still applied, and those free
    /// and use again what nothing keeps. What is held in the end is freed by the next run, when it
    /// may be.
    public func keepLeases() { core.leases.keepAll() }
}
