internal import Glibc
internal import LMDB
internal import Synchronization

/// How changes get to disk, one batch at a time.
///
/// 1. Take a batch: the changes that fit one transaction
/// (``apply(_:asOf:freeing:bootMilliseconds:)``). 2. Budget its space: what it may add to the file is
/// allocated before it begins (`Space/`). 3. Apply it (``ChangeTransaction``): what it puts and deletes is in the
/// memtable, seen by nobody else. 4. Append what it did to the write-ahead log (`Log/`) and publish it, or commit it
/// with all that is pending. 5. Tell those who wait.
///
/// A commit puts the memtable into `data.mdb` in the order of the keys (`CommitPipeline+Committing.swift`). It is frozen
/// for that, so that changes go on in another one (`CommitPipeline+Freezing.swift`). After a crash it is made again
/// from the log (`CommitPipeline+Recovery.swift`).
final class CommitPipeline: Sendable {
    let core: StoreCore
    let space: SpaceReserve
    let reclaimer: FreePageReclaimer
    let pending: PendingCounts
    let logReader: LogReader
    let feedWatch: FeedWatch

    /// One change at a time. Taken before LMDB's own write lock, and never inside a lease's.
    let writing = Mutex<Void>(())
    /// What is acknowledged and not committed. Used inside `writing`.
    let uncommitted = Uncommitted()
    /// Bytes of the log that are not committed. Set inside `writing`.
    let logByteCount = Atomic(0)
    /// Bytes that publishes brought since the store was opened, as stored.
    let publishedByteCount = Atomic(0)
    /// How far a commit is behind the changes that follow it, of 1,000; 0: not at all, or there is none.
    let commitLag = Atomic(0)
    /// Where batches look for orphans to free. Taken alone or inside `writing`.
    let freeing = Mutex(FreeingProgress())
    /// Whether owners are yet to be told of an edit of a category, and there may be room for it.
    let categoryEdits = Atomic(false)
    /// Why nothing is written any more by this process: a sync failed. nil while all is well. Taken
    /// alone or inside `writing`.
    let syncFailure = Mutex<String?>(nil)

    init(_ core: StoreCore, _ logReader: LogReader, _ feedWatch: FeedWatch) {
        self.core = core
        self.logReader = logReader
        self.feedWatch = feedWatch
        pending = logReader.pending
        space = SpaceReserve(core)
        reclaimer = FreePageReclaimer(core)
    }

    /// The counters with all that was acknowledged before.
    func counters() throws(StoreError) -> Counters {
        try core.acknowledged().counters()
    }

    struct SideFreeing {
        var byteCountMax: Int
        var bootMilliseconds: Int64?
        static let none = SideFreeing(byteCountMax: 0, bootMilliseconds: nil)
    }

    // MARK: 1. Take a batch

    /// See ``BlobStore/apply(_:asOf:freeing:bootMilliseconds:)``.
    func apply(
        _ changes: [CheckedChange], asOf now: Timestamp, _ side: SideFreeing
    ) throws(StoreError) -> [Outcome] {
        pace(changes.count)
        return try whileWriting(committing: false) { () throws(StoreError) in
            var outcomes: [Outcome] = []
            var index = 0
            while index < changes.count {
                if changes.span[index].change.isStaged {
                    outcomes.append(try applyStaged(changes[index], asOf: now))
                    index += 1
                    continue
                }
                let batch = BatchPlan(of: changes, from: index, core)
                let together = try applyTogether(changes, batch, asOf: now, side)
                // Most often they are all, and need not be copied.
                if outcomes.isEmpty { outcomes = together } else { outcomes += together }
                index = batch.range.upperBound
            }
            return outcomes
        }
    }

    /// Applies a batch together; where that fails as a whole, one by one, so that only those are refused that must be.
    private func applyTogether(
        _ changes: [CheckedChange], _ batch: BatchPlan, asOf now: Timestamp, _ side: SideFreeing
    ) throws(StoreError) -> [Outcome] {
        var progress = freeing.withLock { $0 }
        do throws(StoreError) {
            let isPublishing = batch.range.contains { changes[$0].change.needsRoom }
            let outcomes = try inBatch(
                batch, asOf: now, isPublishing: isPublishing, mayLackRoom: !isPublishing
            ) { (transaction) throws(StoreError) in
                var outcomes: [Outcome] = []
                outcomes.reserveCapacity(batch.range.count)
                let span = changes.span
                for index in batch.range { outcomes.append(try transaction.attempt(span[index])) }
                if transaction.hasCategoryEdit { categoryEdits.store(true, ordering: .relaxed) }
                if side.byteCountMax > 0 {
                    // Only now: views that are opened from here on see what the transaction does, or later.
                    try transaction.attemptFreeing(
                        freeingRule(bootMilliseconds: side.bootMilliseconds),
                        byteCountMax: side.byteCountMax, &progress)
                }
                return outcomes
            }
            freeing.withLock { $0 = progress }
            publishedByteCount.wrappingAdd(batch.byteCount, ordering: .relaxed)
            return outcomes
        } catch {
            if case .outcomeUnknown = error { throw error }
            if batch.range.count == 1 {
                if case .full = error {
                    space.noteRefused(growth: batch.growth, payloadByteCount: batch.byteCount)
                }
                return [.refused(error)]
            }
            // What is pending first, so that each of them needs no more than its own room.
            if case .full = error {
                try ignoringFull { () throws(StoreError) in try commitPendingUnlessStuck() }
            }
        }
        var outcomes: [Outcome] = []
        for index in batch.range {
            let alone = BatchPlan(of: changes, from: index, countMax: 1, core)
            outcomes += try applyTogether(changes, alone, asOf: now, .none)
        }
        return outcomes
    }

    // MARK: 2. Budget its space

    /// Runs `body` in a batch, and appends what it did to the log or commits it with all that is pending. Only inside
    /// `whileWriting(committing: false)`. What `body` throws leaves nothing changed.
    ///
    /// - Parameter mayLackRoom: whether what removes is logged even where `data.mdb` has no room for it.
    func inBatch<Result>(
        _ batch: BatchPlan, asOf now: Timestamp, isPublishing: Bool, mayLackRoom: Bool = false,
        _ body: (inout ChangeTransaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        var growth = growth(with: batch)
        var isTooMuch = !space.mayBePending(growth)
        if uncommitted.isPending, isTooMuch || !fitsBesides(batch) {
            do throws(StoreError) {
                try makeWay()
                growth = self.growth(with: batch)
                isTooMuch = !space.mayBePending(growth)
            } catch {
                guard case .full = error, !isPublishing else { throw error }
                // What removes comes on top of what cannot be committed, within bounds.
                if mayLackRoom, fitsBesides(batch),
                    space.mayBePending(growth, quarters: 4 * Self.stuckFactor)
                {
                    isTooMuch = false
                }
            }
        }
        let mayBeLogged = uncommitted.log != nil && !batch.isLong && !isTooMuch
        let hasRoom = (mayBeLogged || uncommitted.isPending) && self.hasRoom(for: growth)
        if !hasRoom {
            // Without room each batch is committed by itself, so that it is known what fits.
            do throws(StoreError) {
                try commitPendingUnlessStuck()
                return try inTransaction(
                    growth: batch.growth, asOf: now, isPublishing: isPublishing, body)
            } catch {
                // What removes is not refused for want of room as long as the log has some.
                guard case .full = error, mayBeLogged, mayLackRoom else { throw error }
            }
        }

        // 3. Apply it.
        var transaction = try ChangeTransaction(core, asOf: now)
        let result: Result
        let captured: CapturedBatch?
        do throws(StoreError) {
            try transaction.beginBatch(mayBeLogged ? .log : .checkpoint, of: core.replication)
            result = try body(&transaction)
            // What changed nothing costs no sync.
            guard transaction.isDirty else { return result }
            captured = try transaction.capture()
        } catch {
            transaction.rollBack()
            throw error
        }

        // 4. Append it to the log, or commit.
        let expected = growth.total
        growth.settle(
            touchedPageCount: transaction.transaction.touchedPageCount,
            entryByteCount: transaction.transaction.entryByteCount,
            removedChunkPageCount: transaction.transaction.removedChunkPageCount)
        // What it did may be more than it seemed: only what can be committed is acknowledged.
        let fits =
            mayLackRoom || growth.total <= expected
            || space.mayBePending(growth) && self.hasRoom(for: growth)
        if fits, try append(&transaction, changeCount: batch.range.count) {
            uncommitted.growth = growth
            notePending()
        } else if uncommitted.isStuck {
            transaction.rollBack()
            throw .full
        } else {
            try commit(transaction, growth: growth.total)
        }
        if let captured { core.replication.note(captured, core.leases) }
        return result
    }

    /// What is pending may add to the file with a batch.
    private func growth(with batch: BatchPlan) -> PendingGrowth {
        var growth = uncommitted.growth
        if !uncommitted.isPending, uncommitted.log != nil {
            growth.begin(
                over: uncommitted.frozen?.growth, tableByteCount: try? tableByteCount())
        }
        growth.add(batch)
        return growth
    }

    /// Whether the file has room for what is pending, with what is frozen.
    func hasRoom(for growth: PendingGrowth) -> Bool {
        space.hasRoomAtEnd(growth.total + (uncommitted.frozen?.growth.total ?? 0))
    }

    /// How many times as much may be pending as else, of what removes, while commits find no room.
    private static let stuckFactor = 4

    /// Whether a batch comes into the memtable and the log's area as they are.
    private func fitsBesides(_ batch: BatchPlan) -> Bool {
        let byteCount = batch.byteCount + batch.range.count * Change.loggedByteCount
        return core.memtables.byteCount <= StoreLimits.memtableByteCountMax
            && uncommitted.log?.hasRoom(byteCount) != false
    }

    /// Has what follows come into an empty memtable and an empty area of the log.
    private func makeWay() throws(StoreError) {
        guard uncommitted.onPending != nil else { return try commitPendingUnlessStuck() }
        if uncommitted.isStuck { throw .full }
        try settle()
        _ = try freeze()
        notePending(isMuch: true)
    }

    /// Lets a commit that lags behind catch up, so that changes wait for it a little each, and not one for all of it
    /// once nothing more may be pending. Where both share a core, the commit has nearly none of it otherwise.
    func pace(_ changeCount: Int) {
        let lag = commitLag.load(ordering: .relaxed)
        guard lag > 0 else { return }
        let microseconds = min(changeCount * Self.paceMicroseconds, Self.paceMicrosecondsMax)
        usleep(UInt32(microseconds * lag / 1_000))
    }

    /// How long a change waits for a commit that has not begun when there is no room for more.
    private static let paceMicroseconds = 400
    private static let paceMicrosecondsMax = 10_000

    /// Notes how far what is being committed is behind what follows it, which is to be done before that is too much.
    private func noteCommitLag() {
        // Who waits for room does not wait for a commit besides.
        guard let frozen = uncommitted.frozen, let log = uncommitted.log, !uncommitted.isStuck
        else { return commitLag.store(0, ordering: .relaxed) }
        let filled = max(
            space.pendingShare(uncommitted.growth),
            log.byteCount * 1_000 / StoreLimits.logAreaByteCount,
            core.memtables.byteCount * 1_000 / StoreLimits.memtableByteCountMax)
        // Writing its pages and the sync take longer than putting it into them.
        let written = frozen.memtable.writtenShare * 2 / 5
        commitLag.store(max(0, min(filled - written, 1_000)), ordering: .relaxed)
    }

    /// Tells who commits what is pending, where somebody does.
    private func notePending(isMuch: Bool = false) {
        guard let onPending = uncommitted.onPending else { return }
        noteCommitLag()
        var batches = uncommitted.batches
        // Three quarters: what follows until the commit begins goes on in the last one.
        batches.isMuch =
            isMuch || (uncommitted.log?.byteCount ?? 0) > StoreLimits.logAreaByteCount / 4 * 3
            || core.memtables.byteCount > StoreLimits.memtableByteCountMax / 4 * 3
            || !space.mayBePending(uncommitted.growth, quarters: 3)
        onPending(batches)
    }

    /// Bytes of the pages that a change may copy: those of all tables but the chunks'.
    private func tableByteCount() throws(StoreError) -> Int {
        try StoreError.converting { () throws(LMDBError) in
            let view = try core.readers.begin(keeping: core)
            return try view.pageCount(of: core.tables.allButChunks)
                * core.environment.pageByteCount
        }
    }

    // MARK: 5. Tell those who wait

    /// What has to be known of a transaction once it is committed.
    struct Commit {
        let number: UInt64
        let owners: [String]
        let revision: UInt64

        init(_ transaction: borrowing ChangeTransaction) {
            number = transaction.transaction.id
            owners = transaction.touchedOwners
            revision = transaction.counters.revision
        }
    }

    func finish(_ commit: Commit) {
        core.lastCommit.store(commit.number, ordering: .releasing)
        core.memtables.retire()
        // Only then: who finds nothing pending finds the commit.
        // The marks are other processes' to write, too: the log does not depend on them.
        if uncommitted.isPending || !pending.isEmpty {
            uncommitted.log?.restart()
            logByteCount.store(0, ordering: .relaxed)
            pending.clear()
        }
        uncommitted.growth = PendingGrowth()
        uncommitted.isStuck = false
        space.coverLastPage()
        // Not before: who is woken looks at once, and must find it.
        if !commit.owners.isEmpty { feedWatch.notify(commit.owners, at: commit.revision) }
    }
}

extension ChangeTransaction {
    /// Does a change, or refuses it: then it has changed nothing.
    fileprivate mutating func attempt(
        _ change: borrowing CheckedChange
    ) throws(StoreError) -> Outcome {
        let begin = mark
        do throws(StoreError) {
            return try apply(change)
        } catch {
            if case .outcomeUnknown = error { throw error }
            rollBack(to: begin)
            return .refused(error)
        }
    }

    /// Frees orphans besides. No change is refused for damage to them.
    fileprivate mutating func attemptFreeing(
        _ rule: FreeingRule, byteCountMax: Int, _ progress: inout FreeingProgress
    ) throws(StoreError) {
        let begin = mark
        do throws(StoreError) {
            try freeBeside(rule, byteCountMax: byteCountMax, &progress)
        } catch {
            guard case .corrupt = error else { throw error }
            rollBack(to: begin)
        }
    }
}
