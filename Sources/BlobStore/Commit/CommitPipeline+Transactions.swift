internal import Glibc
internal import LMDB
internal import Synchronization

extension CommitPipeline {
    /// Runs `body` as the only writer, unless a sync has failed before. `committing`: whether what is pending is
    /// committed first; where there was no room for that, it is not tried again here.
    func whileWriting<Result>(
        committing: Bool = true, _ body: () throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        precondition(!core.environment.isReadOnly, "the store was opened for reading only")
        return try writing.locking { () throws(StoreError) in
            do throws(StoreError) {
                try checkSyncs()
                if committing { try commitPendingUnlessStuck() }
                return try body()
            } catch {
                if case .outcomeUnknown(let why) = error { syncFailure.withLock { $0 = why } }
                throw error
            }
        }
    }

    /// Throws ``StoreError/outcomeUnknown(_:)`` when a sync of this process has failed.
    func checkSyncs() throws(StoreError) {
        if let why = syncFailure.withLock({ $0 }) { throw .outcomeUnknown(why) }
    }

    /// Runs `body` in a transaction as the only writer, and commits it.
    func change<Result>(
        growth: Int = 0, asOf now: Timestamp = Timestamp(milliseconds: 0), isPublishing: Bool,
        _ body: (inout ChangeTransaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try whileWriting { () throws(StoreError) in
            try inTransaction(growth: growth, asOf: now, isPublishing: isPublishing, body)
        }
    }

    /// Runs `body` in a batch as the only writer, for a change that can be done in part: where there is no room for
    /// `count` of it, less is tried. It is acknowledged as any other change.
    func changeInSteps<Result>(
        of count: Int, growth: (Int) throws(StoreError) -> Int = { (_) throws(StoreError) in 0 },
        asOf now: Timestamp = Timestamp(milliseconds: 0), isPublishing: Bool,
        _ body: (inout ChangeTransaction, Int) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try whileWriting(committing: false) { () throws(StoreError) in
            try inShrinkingSteps(of: count) { (count) throws(StoreError) in
                try inBatch(
                    BatchPlan(growth: try growth(count), core), asOf: now,
                    isPublishing: isPublishing
                ) { (transaction) throws(StoreError) in
                    try body(&transaction, count)
                }
            }
        }
    }

    /// Runs `body` in a transaction and commits it. Only inside ``whileWriting(committing:_:)``. What `body` throws
    /// leaves nothing changed.
    ///
    /// - Parameters:
    ///   - growth: bytes it may add to the file.
    ///   - isPublishing: whether it needs space of its own; deletes and expiry may use the reserve.
    func inTransaction<Result>(
        growth: Int = 0, asOf now: Timestamp = Timestamp(milliseconds: 0), isPublishing: Bool,
        _ body: (inout ChangeTransaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        precondition(
            !uncommitted.isPending && uncommitted.frozen == nil,
            "what is pending is committed before")
        var remembersRemovals = true
        if isPublishing {
            if try space.prepare(growth: growth) == .inFreePages { try commitNothing(asOf: now) }
        } else {
            // Deletes continue without space: on the reserve. Where there is space it is allocated before,
            // so that the file covers its last page at the moment of the commit.
            let room = try? space.prepare(growth: growth)
            remembersRemovals = room != nil || space.hasHalfOfReserve
            if space.isShortForHoles { makeRoom() }
        }
        var transaction = try ChangeTransaction(core, asOf: now)
        transaction.remembersRemovals = remembersRemovals
        let result: Result
        let captured: CapturedBatch?
        do throws(StoreError) {
            try transaction.beginBatch(.checkpoint, of: core.replication)
            result = try body(&transaction)
            // No sync when nothing changed: a delete of a missing notification, a refused publish.
            guard transaction.isDirty else {
                transaction.rollBack()
                return result
            }
            captured = try transaction.capture()
        } catch {
            transaction.rollBack()
            throw error
        }
        try commit(transaction, growth: growth)
        if let captured { core.replication.note(captured, core.leases) }
        return result
    }

    /// Calls `body`, which removes chunks of blobs in a transaction, and again without those that turned out to be
    /// damaged (``ChangeTransaction/naming(_:_:)``).
    func steppingOver<Element, Result>(
        _ blobs: [Element], number: (Element) -> UInt64,
        _ body: ([Element]) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        var blobs = blobs
        while true {
            do throws(StoreError) {
                return try body(blobs)
            } catch {
                let rest = blobs.filter { !core.quarantine.isIrremovable(number($0)) }
                guard case .corrupt = error, rest.count < blobs.count else { throw error }
                blobs = rest
            }
        }
    }

    /// Gives the file system space for holes that are written again: the end of the file, and free pages.
    func makeRoom() {
        core.tree.withLock { _ in
            space.releaseEnd()
            reclaimer.reclaimForWriting(byteCount: 4 * space.reserveByteCount)
        }
    }

    /// Calls `body` with `count`, and with a quarter of it as long as there is no space for so many at once.
    func inShrinkingSteps<Result>(
        of count: Int, _ body: (Int) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        var count = count
        while true {
            do throws(StoreError) {
                return try body(count)
            } catch {
                guard case .full = error, count > 1 else { throw error }
                count = max(1, count / 4)
            }
        }
    }

    func ignoringFull(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        do throws(StoreError) {
            try body()
        } catch {
            guard case .full = error else { throw error }
        }
    }

    /// An empty commit. After it the pages that the last commit freed can be used: where the file cannot grow, a
    /// change that needs those would fail each time, because a failed change commits nothing.
    func commitNothing(asOf now: Timestamp = Timestamp(milliseconds: 0)) throws(StoreError) {
        try commit(try ChangeTransaction(core, asOf: now), growth: 0)
    }

    /// What a failed commit means: there was no room for its pages, and nothing happened, or its outcome is
    /// unknown.
    ///
    /// A page that could not be written is harmless: the old meta page is still valid. After a failed sync the
    /// kernel may have marked dropped pages clean, so another sync would succeed without writing them. After a
    /// failed meta page the commit may be on disk.
    func failure(of error: LMDBError, growth: Int) -> StoreError {
        guard isShortOfRoom(error, growth: growth) else {
            return .outcomeUnknown(error.description)
        }
        if error.systemError == nil || core.environment.hasFailedCleanly() { return .full }
        return .outcomeUnknown("a sync or the meta page failed: \(error.description)")
    }

    /// Whether an error says that there is no room. LMDB returns EIO for a page that was written in part, because the
    /// disk is full or because it fails.
    func isShortOfRoom(_ error: LMDBError, growth: Int) -> Bool {
        if error.isMapFull || error.isTransactionFull { return true }
        switch error.systemError {
        case ENOSPC, EDQUOT, EFBIG: return true
        case EIO: return space.isExhausted(byteCount: growth)
        default: return false
        }
    }

    /// Ask before the transaction that frees.
    func freeingRule(bootMilliseconds: Int64?) -> FreeingRule {
        core.leases.freeingRule(
            oldestViewed: core.environment.readers.oldestViewed,
            bootMilliseconds: bootMilliseconds)
    }
}
