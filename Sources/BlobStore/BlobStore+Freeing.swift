internal import LMDB
internal import Synchronization

extension BlobStore {
    /// The second step of freeing: removes the chunks of blobs that nothing refers to, in one bounded transaction.
    ///
    /// An orphan is left alone while a lease is held on it; while a snapshot of this process is open that may still
    /// find it; and while peers of an earlier run may be reading it. Snapshots of other processes are safe by
    /// LMDB's own rule. One whose pages are damaged is named once, and stays.
    ///
    /// - Parameters:
    ///   - byteCountMax: stored bytes to free, but at least one chunk, and a blob of a few chunks as a whole.
    ///   - countMax: blobs to free.
    ///   - bootMilliseconds: the boot clock's present (`CLOCK_BOOTTIME`), for a process that sends zero-copy.
    public func freeOrphans(
        byteCountMax: Int, countMax: Int = StoreLimits.freedTogetherCountMax,
        bootMilliseconds: Int64? = nil
    ) throws(StoreError) -> FreeResult {
        let isThere = try makeSnapshot().hasOrphan()
        guard isThere else { return FreeResult() }
        return try pipeline.whileWriting(committing: false) { () throws(StoreError) in
            let found = try findOrphans(byteCountMax, countMax, bootMilliseconds)
            // Where many have to wait, each step looks at some of them.
            let isCutShort = found.lookedAt >= StoreLimits.freedCountMax && !found.isAll
            pipeline.freeing.withLock { $0.nextNumberAlone = isCutShort ? found.nextNumber : 0 }
            guard !found.ready.isEmpty else { return FreeResult() }
            var result = try pipeline.steppingOver(found.ready, number: \.0) {
                (orphans) throws(StoreError) in
                try pipeline.inBatch(
                    BatchPlan(growth: 0, core), asOf: Timestamp(milliseconds: 0),
                    isPublishing: false
                ) { (transaction) throws(StoreError) in
                    try transaction.free(orphans, byteCountMax: byteCountMax)
                }
            }
            if !found.isAll { result.more = true }
            return result
        }
    }

    private func findOrphans(
        _ byteCountMax: Int, _ countMax: Int, _ bootMilliseconds: Int64?
    ) throws(StoreError) -> ReadyOrphans {
        let snapshot = try makeSnapshot()
        var rule = pipeline.freeingRule(bootMilliseconds: bootMilliseconds)
        // A view of what is committed can still find what is not committed as an orphan.
        rule.oldestViewed = min(rule.oldestViewed, snapshot.transaction.viewedCommit)
        let first = pipeline.freeing.withLock { $0.nextNumberAlone }
        return try snapshot.orphans(
            allowedBy: rule, except: core.quarantine, from: first,
            byteCountMax: byteCountMax,
            readyCountMax: min(max(countMax, 1), StoreLimits.freedTogetherCountMax),
            lookingAt: StoreLimits.freedCountMax)
    }

    /// Gives back what is allocated at the file's end and was not needed between the last two calls. Once a second.
    public func trimFile() throws(StoreError) {
        try pipeline.whileWriting(committing: false) { () throws(StoreError) in
            core.memtables.trim()
            // Not while a commit is writing.
            guard pipeline.uncommitted.frozen == nil else { return }
            pipeline.space.trim(keeping: pipeline.uncommitted.growth.total)
        }
    }

    /// Gives free pages inside of `data.mdb` back to the file system, where more of them are allocated than
    /// ``StoreLimits/freeAllocatedPart`` of the pages in use: the file keeps its size, and `du` falls. Pages that a
    /// snapshot of any process may read are not touched.
    ///
    /// - Parameters:
    ///   - microsecondsMax: about how long one step may take.
    ///   - keptByteCount: bytes of free pages that stay allocated, if that is more: for publishes to come.
    public func reclaimFreePages(
        microsecondsMax: Int, keeping keptByteCount: Int = 0
    ) throws(StoreError) -> ReclaimResult {
        try pipeline.whileWriting(committing: false) { () throws(StoreError) in
            var result = ReclaimResult()
            // Not while a commit is writing.
            guard pipeline.uncommitted.frozen == nil else {
                result.more = true
                return result
            }
            result = try pipeline.reclaimer.reclaim(
                microsecondsMax: microsecondsMax, keeping: keptByteCount)
            result.failure = pipeline.reclaimer.takeFailure()
            if result.awaitsCommit, !pipeline.uncommitted.isPending { try pipeline.commitNothing() }
            return result
        }
    }

    /// Bytes that publishes of this process have brought since it opened the store, as stored. One load.
    package var publishedByteCount: Int { pipeline.publishedByteCount.load(ordering: .relaxed) }

    /// Bytes that are allocated for `data.mdb`, as `du` counts them. One `fstat`.
    public var allocatedByteCount: Int { pipeline.reclaimer.allocatedByteCount }
}

extension BlobStore {
    /// Whether pages of `data.mdb` may be sent zero-copy: whether this process's start is on disk
    /// (``allowZeroCopy(at:graceMilliseconds:)``).
    public var allowsZeroCopy: Bool { core.leases.allowsZeroCopy.load(ordering: .acquiring) }

    /// Says that this process will send pages of the store zero-copy (`sendfile`): what peers of earlier runs may
    /// have been sent is not freed until `graceMilliseconds` after the run has ended. Call it once, before anything
    /// is sent. The start is written to the store, for the runs to come: one commit, or none.
    ///
    /// - Parameters:
    ///   - now: by the machine's boot clock. After a boot no peer is left, and nothing is held back.
    ///   - graceMilliseconds: how long a peer may take to read. 0 or less: nothing is held back.
    /// - Throws: ``StoreError/full`` when the start cannot be written. This process must not send zero-copy then:
    ///   the next one would not know.
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

    /// Lets no lease end any more. To be called before the sockets are closed that pages were sent to: afterwards
    /// nothing tells when those have been read. The next run frees what is held then.
    public func keepLeases() { core.leases.keepAll() }
}
