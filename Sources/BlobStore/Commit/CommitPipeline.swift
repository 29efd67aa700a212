internal import LMDB
internal import Synchronization

extension BlobStore {
    /// Does `changes`, in order, and returns once they are on disk.
    ///
    /// As many as fit the limits of a transaction share one transaction and one sync, so give it
    /// all that is waiting. Each change has its own outcome: one that is refused does not touch the
    /// others.
    ///
    /// - Parameters:
    ///   - freedByteCountMax: of what nothing refers to any more, as many stored bytes are freed
    ///     beside the changes (``freeOrphans(byteCountMax:bootMilliseconds:)``) when there is enough
    ///     of it to be worth while, without a sync of its own. 0: none.
    ///   - bootMilliseconds: the boot clock's present, for freeing.
    /// - Returns: an outcome for each change, in their order.
    /// - Throws: ``StoreError/outcomeUnknown(_:)`` only: a sync failed, so what became of the
    ///   changes is not known. Stop the process.
    public func apply(
        _ changes: [Change], asOf now: Timestamp, freeing freedByteCountMax: Int = 0,
        bootMilliseconds: Int64? = nil
    ) throws(StoreError) -> [Outcome] {
        let outcomes = try apply(
            changes, asOf: now, freeing: freedByteCountMax, bootMilliseconds: bootMilliseconds,
            isSettling: false)
        if hasCategoryEdits { try tellAllCategoryEdits(asOf: now) }
        return outcomes
    }

    /// The same, but for the owners who are to be told of a category's edit
    /// (``tellCategoryEdits(asOf:)``).
    ///
    /// - Parameter isSettling: whether they are committed, with all that is in the log alone, even
    ///   where the log would do (``beginLogging()``).
    package func apply(
        _ changes: [Change], asOf now: Timestamp, freeing freedByteCountMax: Int = 0,
        bootMilliseconds: Int64? = nil, isSettling: Bool
    ) throws(StoreError) -> [Outcome] {
        precondition(!isReadOnly, "the store was opened for reading only")
        return try whileWriting(settling: false) { () throws(StoreError) in
            var outcomes: [Outcome] = []
            let side = SideFreeing(
                byteCountMax: freedByteCountMax, bootMilliseconds: bootMilliseconds)
            var index = 0
            while index < changes.count {
                if changes.span[index].isStaged {
                    try settleOpen()
                    outcomes.append(try applyStaged(changes[index], asOf: now))
                    index += 1
                    continue
                }
                let batch = batch(of: changes, from: index)
                let together = try applyTogether(
                    changes, batch, isSettling: isSettling, asOf: now, side)
                // Most often they are all, and need not be copied.
                if outcomes.isEmpty { outcomes = together } else { outcomes += together }
                index = batch.range.upperBound
            }
            return outcomes
        }
    }

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

    /// What is freed beside changes.
    private struct SideFreeing {
        var byteCountMax: Int
        var bootMilliseconds: Int64?
        static let none = SideFreeing(byteCountMax: 0, bootMilliseconds: nil)
    }

    /// The batch that begins at `start`: up to the limits of a transaction, or to a change that is
    /// written ahead. A blob that is stored, or comes twice, adds its bytes once or not at all.
    private func batch(
        of changes: [Change], from start: Int, countMax: Int = .max
    ) -> BatchPlan {
        var batch = BatchPlan(from: start, pageByteCount: environment.pageByteCount)
        var digests: Set<Digest> = []
        var index = start
        // Through the span, which copies no change to look at it.
        let span = changes.span
        while index < span.count, index - start < countMax, !span[index].isStaged {
            var next = batch
            next.addBookkeeping(of: span[index])
            span[index].forEachPayload { payload in
                next.byteCount += payload.storedByteCount
                // Short ones are not worth a lookup.
                if payload.storedByteCount <= Change.bookkeepingByteCount
                    || (digests.insert(payload.digest).inserted && !isStored(payload.digest))
                {
                    next.addChunks(of: payload)
                }
            }
            if index > start,
                next.putCount > StoreLimits.transactionPutCountMax
                    || next.growth > StoreLimits.transactionByteCountMax
            {
                break
            }
            batch = next
            index += 1
        }
        batch.range = start..<index
        return batch
    }

    /// Whether a blob is stored, as far as can be said: no, when too many snapshots are open.
    private func isStored(_ digest: Digest) -> Bool { (try? contains(digest)) == true }

    /// Does a batch in one transaction; when that fails, one by one, so that only those that cannot
    /// be done are refused.
    private func applyTogether(
        _ changes: [Change], _ batch: BatchPlan, isSettling: Bool, asOf now: Timestamp,
        _ side: SideFreeing
    ) throws(StoreError) -> [Outcome] {
        var place = freeing.withLock { $0 }
        do throws(StoreError) {
            let rule =
                side.byteCountMax > 0
                ? freeingRule(bootMilliseconds: side.bootMilliseconds) : nil
            let outcomes = try inOpenTransaction(
                batch, isSettling: isSettling, asOf: now,
                isPublishing: batch.range.contains { changes[$0].needsRoom }
            ) { (transaction) throws(StoreError) in
                var outcomes: [Outcome] = []
                outcomes.reserveCapacity(batch.range.count)
                let span = changes.span
                for index in batch.range {
                    outcomes.append(try transaction.apply(span[index]))
                }
                if transaction.hasCategoryEdit { categoryEdits.store(true, ordering: .relaxed) }
                if let rule {
                    try transaction.freeBeside(rule, byteCountMax: side.byteCountMax, &place)
                }
                return outcomes
            }
            freeing.withLock { $0 = place }
            return outcomes
        } catch {
            if case .outcomeUnknown = error { throw error }
            if batch.range.count == 1 {
                if case .full = error {
                    space.noteRefused(growth: batch.growth, payloadByteCount: batch.byteCount)
                }
                return [.refused(error)]
            }
        }
        var outcomes: [Outcome] = []
        for index in batch.range {
            let alone = self.batch(of: changes, from: index, countMax: 1)
            outcomes += try applyTogether(
                changes, alone, isSettling: isSettling, asOf: now, .none)
        }
        return outcomes
    }
}
