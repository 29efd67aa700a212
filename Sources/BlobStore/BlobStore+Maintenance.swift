internal import LMDB
internal import Synchronization

// What keeps a store small and sound. Call it regularly where changes are made.

extension BlobStore {
    /// Removes notifications whose time is over at `now`, oldest expiry first, in one transaction
    /// and with one sync. Reads never return them, swept or not; this gives their space back, and
    /// tells their owners. Ends what else ends by then: holds of blobs, and the memory of earlier
    /// removals. Goes on, by one step, telling owners of a category's edit where that was interrupted.
    ///
    /// - Parameters:
    ///   - now: the present, by the wall clock.
    ///   - limit: how many at the most; fewer where their parts would not fit the limits of a
    ///     transaction, or the store is full and there is no room to do many at once.
    /// - Returns: how many were removed; nothing is written or synced when there are none. Damaged
    ///   ones are stepped over, so that one bad record does not keep the others' space for ever.
    /// - Throws: ``StoreError/corrupt(_:)`` when the tables themselves cannot be walked,
    ///   ``StoreError/full`` when there is not even room to remove one,
    ///   ``StoreError/outcomeUnknown(_:)``.
    public func sweepExpired(asOf now: Timestamp, limit: Int) throws(StoreError) -> SweepResult {
        try maintenance.sweepExpired(asOf: now, limit: limit)
    }

    /// The second step of freeing: removes the chunks of blobs that nothing refers to, in one
    /// bounded transaction with one sync.
    ///
    /// An orphan is left alone while a lease is held on it; while a snapshot of this process is open
    /// that may still find it, since its holder may yet take a lease; and while peers
    /// of an earlier run may be reading it (``allowZeroCopy(at:graceMilliseconds:)``). Snapshots of
    /// other processes are safe by LMDB's own rule: pages they can see are not used again.
    ///
    /// - Parameters:
    ///   - byteCountMax: stored bytes to free at the most, but at least one chunk, and a blob of a
    ///     few chunks as a whole.
    ///   - bootMilliseconds: the boot clock's present (`CLOCK_BOOTTIME`), for a process that sends zero-copy;
    ///     nil counts as the moment it began to.
    /// - Returns: what was freed; nothing is written or synced when nothing can be.
    /// - Throws: ``StoreError/corrupt(_:)``, ``StoreError/outcomeUnknown(_:)``.
    public func freeOrphans(
        byteCountMax: Int, bootMilliseconds: Int64? = nil
    ) throws(StoreError) -> FreeResult {
        try maintenance.freeOrphans(
            byteCountMax: byteCountMax, bootMilliseconds: bootMilliseconds)
    }

    /// Frees the reader slots of processes that died (`mdb_reader_check`), whose snapshots would
    /// keep space from being used again for ever.
    ///
    /// - Returns: how many were freed.
    @discardableResult
    public func checkReaders() throws(StoreError) -> Int {
        do throws(LMDBError) {
            return try core.environment.checkReaders()
        } catch {
            throw StoreError(error)
        }
    }

    /// Gives back what `data.mdb` has allocated at its end and has not needed lately (`ftruncate`).
    /// Pages in use are never touched. Call it about once a second: what was asked for between two
    /// calls is kept for one more.
    public func trimFile() throws(StoreError) {
        try pipeline.whileWriting { () throws(StoreError) in pipeline.space.trim() }
    }

    /// Gives free pages inside of `data.mdb` back to the file system (`fallocate` with
    /// `FALLOC_FL_PUNCH_HOLE`), where more of them are allocated than ``StoreLimits/freeAllocatedPart`` of
    /// the pages in use: the file keeps its size, and `du` falls. Pages that a snapshot of any process may
    /// read are not touched. Commits what is in the log first.
    ///
    /// - Parameters:
    ///   - microsecondsMax: about how long one step may take.
    ///   - keptByteCount: bytes of free pages that stay allocated, if that is more: those that publishes are
    ///     about to use.
    /// - Returns: what was given back; nothing where the file system cannot punch holes.
    /// - Throws: ``StoreError/corrupt(_:)`` when the list of free pages cannot be walked.
    public func reclaimFreePages(
        microsecondsMax: Int, keeping keptByteCount: Int = 0
    ) throws(StoreError) -> ReclaimResult {
        try pipeline.whileWriting { () throws(StoreError) in
            let result = try pipeline.reclaimer.reclaim(
                microsecondsMax: microsecondsMax, keeping: keptByteCount)
            if result.awaitsCommit { try pipeline.commitNothing(asOf: Timestamp(milliseconds: 0)) }
            return result
        }
    }

    /// Bytes that publishes of this process have brought since it opened the store, as stored. One load.
    package var publishedByteCount: Int { pipeline.publishedByteCount.load(ordering: .relaxed) }

    /// Bytes that are allocated for `data.mdb`, as `du` counts them. One `fstat`.
    public var allocatedByteCount: Int { pipeline.reclaimer.allocatedByteCount }

    /// Whether a publish could be stored now. Call it where changes are made.
    ///
    /// While none was refused this costs a look at the room there is. After a publish was refused
    /// for want of room, the same room is tried for in a transaction that is not committed, until it
    /// is there: so ask about once a second. A publish that would not fit an empty store says nothing
    /// of this one.
    ///
    /// - Parameter byteCount: stored bytes that the publish would add, as far as ``Quotas`` go.
    /// - Throws: ``StoreError/full`` when there is no room, ``StoreError/quotaExceeded(_:)`` when a quota
    ///   of the store is used up, ``StoreError/outcomeUnknown(_:)`` when a sync has failed.
    public func checkWritable(byteCount: Int = 1) throws(StoreError) {
        try maintenance.checkWritable()
        try maintenance.checkQuotas(byteCount: byteCount)
    }

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
        try maintenance.allowZeroCopy(at: now, graceMilliseconds: graceMilliseconds)
    }

    /// Lets no lease end any more, for as long as the store is open. To be called before the sockets
    /// are closed that pages were sent to: afterwards nothing tells when those have been read.
    ///
    /// A server that stops closes its connections while changes are still applied, and those free
    /// and use again what nothing keeps. What is held in the end is freed by the next run, when it
    /// may be.
    public func keepLeases() { core.leases.keepAll() }

    /// Walks all pages, recounts everything and reads every byte: records, references, the index,
    /// counters, what else `meta` has, and each blob's chunks against their checksums and its digest.
    ///
    /// Where pages are damaged nothing more is looked at: liblmdb does not check what they say, and a
    /// walk over their entries may be the end of the process. `blobd verify` does that in another.
    ///
    /// The counting sees one snapshot. Blobs are read in a snapshot each, so that a verification
    /// beside a daemon does not make the file grow; one that is deleted meanwhile is left out.
    /// Reads the whole store, and keeps about 150 bytes a blob in memory.
    ///
    /// - Parameter progress: called after each blob.
    /// - Returns: what was found; damage is in the report, not thrown.
    /// - Throws: ``StoreError/readersFull``, or what keeps the tables from being walked at all.
    public func verify(
        progress: (VerifyProgress) -> Void = { _ in }
    ) throws(StoreError) -> VerifyReport {
        try verify(.bytes, goesOnBehindDamage: false, progress: progress)
    }

    package typealias VerifyDepth = Verifier.Depth

    /// The same, also of less.
    ///
    /// - Parameters:
    ///   - goesOnBehindDamage: whether entries are looked at where pages are damaged, which may end
    ///     the process.
    ///   - found: called with what was found so far, after each table and each blob.
    package func verify(
        _ depth: VerifyDepth, goesOnBehindDamage: Bool, found: (VerifyReport) -> Void = { _ in },
        progress: (VerifyProgress) -> Void = { _ in }
    ) throws(StoreError) -> VerifyReport {
        try Verifier(core, log).verify(
            depth, goesOnBehindDamage: goesOnBehindDamage, found: found, progress: progress)
    }

    /// Walks the pages of `data.mdb` in `directory` without opening the store: reads only, by
    /// `pread`, so that no page can end the process. Nobody may write to the store meanwhile.
    ///
    /// - Returns: what is wrong with the structure; nothing is looked at beyond it.
    /// - Throws: ``StoreError/cannotOpen(path:reason:)``.
    package static func checkPages(
        at directory: String, position: WalkPosition? = nil
    ) throws(StoreError) -> VerifyReport {
        try PageCheck.check(directory, .all, position: position)
    }

    /// Calls `body` while nobody else can open the store for writing; nil when somebody has.
    package static func whileLocked<Result>(
        _ directory: String, _ body: () throws -> Result
    ) rethrows -> Result? {
        guard let lock = try? DirectoryLock(directory) else { return nil }
        defer { withExtendedLifetime(lock) {} }
        return try body()
    }
}
