internal import LMDB
internal import Synchronization

extension BlobStore {
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
        let isThere = try core.withSnapshot { (snapshot) throws(StoreError) in
            try snapshot.hasOrphan()
        }
        guard isThere else { return FreeResult() }
        return try pipeline.whileWriting { () throws(StoreError) in
            let rule = pipeline.freeingRule(bootMilliseconds: bootMilliseconds)
            let first = pipeline.freeing.withLock { $0.nextNumberAlone }
            let found = try core.withSnapshot { (snapshot) throws(StoreError) in
                try snapshot.orphans(
                    allowedBy: rule, from: first, byteCountMax: byteCountMax,
                    lookingAt: StoreLimits.freedCountMax)
            }
            // Where many have to wait, each step looks at some of them.
            let isCutShort = found.lookedAt >= StoreLimits.freedCountMax && !found.isAll
            pipeline.freeing.withLock { $0.nextNumberAlone = isCutShort ? found.nextNumber : 0 }
            guard !found.ready.isEmpty else { return FreeResult() }
            var result = try pipeline.inTransaction(isPublishing: false) {
                (transaction) throws(StoreError) in
                try transaction.free(found.ready, byteCountMax: byteCountMax)
            }
            if !found.isAll { result.more = true }
            return result
        }
    }

    /// Frees the reader slots of processes that died (`mdb_reader_check`), whose snapshots would
    /// keep space from being used again for ever.
    ///
    /// - Returns: how many were freed.
    @discardableResult
    public func checkReaders() throws(StoreError) -> Int {
        try StoreError.converting { () throws(LMDBError) in try core.environment.checkReaders() }
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
            if result.awaitsCommit { try pipeline.commitNothing() }
            return result
        }
    }

    /// Bytes that publishes of this process have brought since it opened the store, as stored. One load.
    package var publishedByteCount: Int { pipeline.publishedByteCount.load(ordering: .relaxed) }

    /// Bytes that are allocated for `data.mdb`, as `du` counts them. One `fstat`.
    public var allocatedByteCount: Int { pipeline.reclaimer.allocatedByteCount }
}
