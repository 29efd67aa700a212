internal import LMDB
internal import Synchronization

// Changes. All of them go through the commit pipeline.

extension BlobStore {
    /// Does `changes`, in order, and returns once they are on disk. As many as fit the limits of a transaction share one
    /// and its sync, so give it all that is waiting. One that is refused does not touch the others.
    ///
    /// - Parameters:
    ///   - changes: applied in this order.
    ///   - now: the time of all of them.
    ///   - freedByteCountMax: as many stored bytes of unreferenced payloads are freed along with the changes when
    ///     it is worth while, without a sync of its own.
    ///   - bootMilliseconds: since the machine's start; nil: asked for.
    /// - Returns: an outcome for each change, in their order. In a store that does not lead its shard, what would change
    ///   something is refused as ``StoreError/notLeading``.
    /// - Throws: ``StoreError/outcomeUnknown(_:)``: a sync failed. Stop the process. ``StoreError/notLeading``, with nothing
    ///   changed, where such a store has yet to tell owners of a category's edit.
    public func apply(
        _ changes: [Change], asOf now: Timestamp, freeing freedByteCountMax: Int = 0,
        bootMilliseconds: Int64? = nil
    ) throws(StoreError) -> [Outcome] {
        var checked: [CheckedChange] = []
        checked.reserveCapacity(changes.count)
        var refused: [(index: Int, error: StoreError)] = []
        let span = changes.span
        for index in span.indices {
            do throws(StoreError) {
                checked.append(try CheckedChange(span[index], asOf: now))
            } catch {
                refused.append((index, error))
            }
        }
        let applied = try apply(
            checked: checked, asOf: now, freeing: freedByteCountMax,
            bootMilliseconds: bootMilliseconds)
        if hasCategoryEdits { try announceAllCategoryEdits(asOf: now) }
        if refused.isEmpty { return applied }
        var outcomes: [Outcome] = []
        var rest = applied[...]
        for (index, error) in refused {
            let count = index - outcomes.count
            outcomes += rest.prefix(count)
            rest = rest.dropFirst(count)
            outcomes.append(.refused(error))
        }
        return outcomes + rest
    }

    /// Does changes that are checked. Owners are not told of a category's edit by it.
    package func apply(
        checked changes: [CheckedChange], asOf now: Timestamp, freeing freedByteCountMax: Int = 0,
        bootMilliseconds: Int64? = nil
    ) throws(StoreError) -> [Outcome] {
        let side = CommitPipeline.SideFreeing(
            byteCountMax: freedByteCountMax, bootMilliseconds: bootMilliseconds)
        return try pipeline.apply(changes, asOf: now, side)
    }

    /// Waits a little, for so many removals, where a commit lags behind what follows it, as each change does.
    package func pace(_ count: Int) { pipeline.pace(count) }

    /// Publishes one part; returns once it is on disk.
    ///
    /// - Throws: why it was refused, or ``StoreError/outcomeUnknown(_:)``.
    @discardableResult
    public func publish(
        _ publication: Publication, asOf now: Timestamp
    ) throws(StoreError) -> Record {
        switch try apply([.publish(publication)], asOf: now)[0] {
        case .published(let record, _): return record
        case .refused(let error): throw error
        default: preconditionFailure("a publish is published or refused")
        }
    }

    /// Deletes one notification; returns once that is on disk.
    ///
    /// - Returns: false when there was none, or it had expired.
    @discardableResult
    public func delete(_ id: String, asOf now: Timestamp) throws(StoreError) -> Bool {
        switch try apply([.delete(id: id)], asOf: now)[0] {
        case .deleted: return true
        case .refused(let error): throw error
        default: return false
        }
    }

    /// Commits what is in the log (``StoreOptions/usesWriteAheadLog``), ends it, and the thread that commits. Releasing the
    /// last reference does so, too, but cannot say what failed. Without a log, or once closed, it does nothing. From any
    /// thread; it waits for the change and the commit under way, and takes a commit itself.
    ///
    /// Snapshots and leases stay valid. Make no change after it. Where the disk has no room for the commit, the changes stay
    /// in the log, and the next opening commits them.
    ///
    /// - Throws: ``StoreError/outcomeUnknown(_:)`` when a sync failed, now or before.
    public func close() throws(StoreError) {
        guard !isReadOnly else { return }
        checkpoints?.close()
        try endLogging()
    }

    /// Begins the log, unless another host leads the shard, and the thread that commits what is in it.
    func beginLoggingAsWanted() throws(StoreError) {
        guard let checkpoints else { return }
        switch core.replication.state?.role {
        case nil, .leader:
            do throws(StoreError) {
                try beginLogging()
            } catch {
                guard case .full = error else { throw error }
                options.onLogNotice?(.lacksRoom)
            }
        case .follower, .deposed: break
        }
        do throws(SystemError) { try checkpoints.start() } catch { throw StoreError(error) }
    }

    /// From now on batches of short changes are acknowledged when they are in the log (`changes.log`): one sync of
    /// a few blocks. Snapshots of this process have them from then on; other processes once ``commitPending()`` or
    /// another change commits them.
    ///
    /// - Throws: ``StoreError/full`` when there is no room for the log: batches are then committed one by one, until
    ///   ``resumeLogging()`` finds room.
    package func beginLogging() throws(StoreError) {
        // It tries again where there was no room.
        defer { checkpoints?.wake() }
        try pipeline.beginLogging()
    }

    /// Begins to log where there was no room for a log, and there is room for several now. Returns whether it did.
    package func resumeLogging() throws(StoreError) -> Bool { try pipeline.resumeLogging() }

    /// Commits what is in the log, and each batch from now on. Where there is no room for that, the log stays as it is,
    /// and the next start finds it so: nothing may be changed after it in this process.
    package func endLogging() throws(StoreError) { try pipeline.endLogging() }

    /// Commits what is in the log and not in `data.mdb`. Throws ``StoreError/full`` where there is no room for it: then
    /// it stays in the log, and readable.
    package func commitPending() throws(StoreError) {
        try pipeline.whileWriting(committing: false) { () throws(StoreError) in
            try pipeline.commitPending()
        }
    }

    /// Commits what is in the log while changes go on, so from a thread of its own. Throws as ``commitPending()``.
    package func checkpoint() throws(StoreError) { try pipeline.checkpointOrCommit() }

    /// Begins what ``checkpoint()`` does, and leaves the rest to it: for tests of what comes in between.
    package func beginCheckpoint() throws(StoreError) {
        try pipeline.whileWriting(committing: false) { () throws(StoreError) in
            _ = try pipeline.freeze()
        }
    }

    /// The last commit that this process made; 0: none.
    package var lastCommit: UInt64 { core.lastCommit.load(ordering: .acquiring) }

    /// What is in the log and not in `data.mdb`. Waits while a change is under way.
    package var pendingChanges: PendingBatches {
        pipeline.writing.withLock { _ in pipeline.uncommitted.batches }
    }
}

extension BlobStore {
    /// Whether owners are yet to be told of a category's edit, by this process or one before. One load.
    package var hasCategoryEdits: Bool { pipeline.categoryEdits.load(ordering: .relaxed) }

    /// Tells owners of a category's edit, in one step and one transaction: a line in the feed of each who has a
    /// live notification of that category. A sweep continues what a crash or a full disk left. Returns whether
    /// there is more.
    package func announceCategoryEdits(asOf now: Timestamp) throws(StoreError) -> Bool {
        let hasMore = try pipeline.changeInSteps(
            of: StoreLimits.categoryEditOwnerCountMax,
            growth: { (count) throws(StoreError) in count * Change.categoryLineByteCount },
            asOf: now, isPublishing: true
        ) { (transaction, countMax) throws(StoreError) in
            try transaction.announceCategoryEdit(ownerCountMax: countMax)
        }
        if !hasMore { pipeline.categoryEdits.store(false, ordering: .relaxed) }
        return hasMore
    }

    /// Finds out whether an earlier process, or the leader before, has left edits that not all owners were told of.
    func loadCategoryEdits() throws(StoreError) {
        let isLeft = try core.snapshot().firstCategoryEdit() != nil
        pipeline.categoryEdits.store(isLeft, ordering: .relaxed)
    }

    /// Tells all owners of all edits. Where there is no room for it, a later sweep continues.
    func announceAllCategoryEdits(asOf now: Timestamp) throws(StoreError) {
        do throws(StoreError) {
            while try announceCategoryEdits(asOf: now) {}
        } catch {
            guard case .full = error else { throw error }
            pipeline.categoryEdits.store(false, ordering: .relaxed)
        }
    }
}

extension BlobStore {
    /// Throws why no publish of so many stored bytes could be stored now. After one was refused for want of room,
    /// the same room is tried for in a transaction that is not committed, until it is there: so ask about once a
    /// second. A publish that would not fit an empty store says nothing of this one.
    ///
    /// - Throws: besides, ``StoreError/io(operation:errno:)`` when the store's file is no longer in its folder: what is
    ///   stored then is lost with this process.
    public func checkWritable(byteCount: Int = 1) throws(StoreError) {
        try pipeline.checkSyncs()
        try DataFile.requireInPlace(core.environment.dataDescriptor, in: core.directory)
        try pipeline.space.prepare(growth: core.environment.bookkeepingGrowth)
        let refused = pipeline.space.refused
        if refused.isAny {
            guard pipeline.space.hasRoom(incoming: refused.incomingByteCount) else { throw .full }
            if refused.growth > 0 { try tryGrowth(refused) }
            pipeline.space.forget(refused)
        }
        try checkQuotas(byteCount: byteCount)
    }

    /// Throws where a notification with so many new stored bytes would make the store pass a quota.
    private func checkQuotas(byteCount: Int) throws(StoreError) {
        let quotas = self.quotas
        guard quotas.isAny else { return }
        let free =
            quotas.freeDiskByteCountMin > 0
            ? Disk(core.environment.dataDescriptor)?.availableByteCount : nil
        try pipeline.counters().check(
            quotas, freeDiskByteCount: free, storedGrowth: byteCount, notificationGrowth: 1)
    }

    /// Puts as many bytes, or as one transaction of a large blob has, into a transaction that is not committed.
    private func tryGrowth(_ refused: Refused) throws(StoreError) {
        let growth = refused.growth
        try pipeline.whileWriting { () throws(StoreError) in
            // The bytes on their way in take room of the same disk meanwhile.
            let room = try pipeline.space.prepare(growth: growth + refused.incomingByteCount)
            do throws(StoreError) {
                try putAndAbort(growth)
            } catch {
                // Pages that the last commit freed are not free before the next one.
                guard case .full = error, room == .inFreePages else { throw error }
                try pipeline.commitNothing()
                try putAndAbort(growth)
            }
        }
    }

    private func putAndAbort(_ growth: Int) throws(StoreError) {
        let chunk = [UInt8](repeating: 0, count: StoreLimits.chunkByteCountMax)
        var rest = min(growth, StoreLimits.stagedBatchByteCount)
        var index: UInt32 = 0
        do throws(LMDBError) {
            var transaction = try core.environment.beginWrite()
            while rest > 0 {
                // After all chunks: no blob has this number.
                let key = ChunkKey(number: .max, index: index)
                try transaction.put(chunk.span.bytes, forKey: key.bytes, in: core.tables.chunks)
                rest -= chunk.count
                index += 1
            }
        } catch {
            throw pipeline.failure(of: error, growth: growth)
        }
    }
}
