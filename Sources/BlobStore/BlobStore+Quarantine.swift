internal import Bytes
internal import LMDB
internal import Synchronization

extension BlobStore {
    func loadQuarantine() throws(StoreError) {
        var entries: [DamagedBlob] = []
        try core.snapshot().forEachState(in: .damaged) { (number, entry) throws(StoreError) in
            let foundAt = Timestamp(milliseconds: Int64(clamping: entry.transaction))
            entries.append(DamagedBlob(number: number, digest: entry.digest, foundAt: foundAt))
        }
        core.quarantine.replace(by: entries)
    }

    /// Learns whether blobs of an earlier run have given way to others. Until then each release looks for them.
    func loadGivenWay() throws(StoreError) {
        let hasAny = try !core.snapshot().quarantineEntries().isEmpty
        core.quarantine.mayHaveGivenWay.store(hasAny, ordering: .relaxed)
    }

    /// Notes what ``Scrubber`` found damaged. One transaction for each blob: there are few. Two loads while there is
    /// nothing. Throws the first error after all of them were tried.
    package func quarantineFound(asOf now: Timestamp) throws(StoreError) {
        try shipWithoutBytes(asOf: now)
        var failure: StoreError?
        for (blob, chunkCount) in core.quarantine.confirmed {
            do throws(StoreError) {
                try quarantine(blob, chunkCount: chunkCount, asOf: now)
            } catch {
                if case .outcomeUnknown = error { throw error }
                failure = failure ?? error
            }
        }
        if !core.quarantine.isEmpty { try loadQuarantine() }
        if let failure { throw failure }
    }

    private func quarantine(
        _ blob: BlobReference, chunkCount: Int, asOf now: Timestamp
    ) throws(StoreError) {
        // First: a view that has the note finds nothing of it to send. One that gave way has it already.
        let isNoted = core.quarantine.contains(blob.number)
        core.quarantine.close(DamagedBlob(number: blob.number, digest: blob.digest, foundAt: now))
        core.forgetVerified(blob)
        let transaction: UInt64?
        do throws(StoreError) {
            transaction = try pipeline.change(asOf: now, isPublishing: false) {
                (transaction) throws(StoreError) in
                try transaction.noteDamaged(blob) ? transaction.transaction.id : nil
            }
        } catch {
            if !isNoted { core.quarantine.reopen(blob.number) }
            throw error
        }
        core.quarantine.finish(blob, in: transaction, chunkCount: chunkCount)
    }

    /// Has batches shipped without the bytes that are lost: what was published since would wait for them.
    private func shipWithoutBytes(asOf now: Timestamp) throws(StoreError) {
        for blob in core.quarantine.takeUnshippable() {
            let shipped = core.replication.shippedSequence.load(ordering: .acquiring)
            try pipeline.whileWriting { () throws(StoreError) in
                let batch = try core.snapshot().unshippedBatch(storing: blob.number, after: shipped)
                guard let batch = batch?.marking(absent: blob.number) else { return }
                let growth = 2 * batch.bytes.count + core.environment.bookkeepingGrowth
                try pipeline.inTransaction(
                    growth: growth, asOf: now, isPublishing: false
                ) { (transaction) throws(StoreError) in
                    try transaction.putOutbox(batch.bytes, at: batch.sequence)
                }
            }
            core.quarantine.confirm(blob, chunkCount: 1)
        }
    }

    /// One step of giving notifications the blobs that were published again. `position`: how far the records were
    /// looked at. Returns whether there is more to do. One load while there is nothing. Only a leader, which tells its
    /// followers, or a store of no shard does this.
    package func heal(
        _ position: inout HealingPosition, recordCountMax: Int = 8_192, asOf now: Timestamp
    ) throws(StoreError) -> Bool {
        guard core.quarantine.mayHaveGivenWay.load(ordering: .relaxed) else { return false }
        if position.numbers.isEmpty {
            let (numbers, isAny) = try healable()
            core.quarantine.mayHaveGivenWay.store(isAny, ordering: .relaxed)
            position = HealingPosition(numbers: numbers)
        }
        guard !position.numbers.isEmpty else { return false }
        let (ids, last) = try core.snapshot().ids(
            after: position.id, referringTo: position.numbers, countMax: recordCountMax)
        try repoint(ids[...], from: position.numbers, asOf: now)
        guard let last else {
            // All records were looked at; none refers to them any more.
            position = HealingPosition()
            return false
        }
        position.id = last
        return true
    }

    /// Gives notifications other blobs in one transaction or, where one of them meets damage, in one for each: that one
    /// is left as it is.
    private func repoint(
        _ ids: ArraySlice<String>, from numbers: Set<UInt64>, asOf now: Timestamp
    ) throws(StoreError) {
        guard !ids.isEmpty else { return }
        let growth = ids.count * core.environment.bookkeepingGrowth
        do throws(StoreError) {
            try pipeline.change(growth: growth, asOf: now, isPublishing: true) {
                (transaction) throws(StoreError) in
                for id in ids { _ = try transaction.repoint(id, from: numbers) }
            }
        } catch {
            guard case .corrupt = error else { throw error }
            guard ids.count > 1 else { return }
            for index in ids.indices { try repoint(ids[index...index], from: numbers, asOf: now) }
        }
    }

    /// Blobs that gave way to others that are stored, and whether any gave way at all.
    private func healable() throws(StoreError) -> (numbers: Set<UInt64>, isAny: Bool) {
        // What is only in the log may be one of them.
        try pipeline.whileWriting { () throws(StoreError) in }
        let snapshot = try core.snapshot()
        let entries = try snapshot.quarantineEntries()
        var numbers: Set<UInt64> = []
        for entry in entries where try snapshot.blobEntry(entry.blob.digest) != nil {
            numbers.insert(entry.blob.number)
        }
        return (numbers, !entries.isEmpty)
    }
}

/// How far notifications were looked at that may refer to blobs that gave way to others.
package struct HealingPosition: Sendable {
    /// The blobs that gave way.
    var numbers: Set<UInt64> = []
    /// The last id that was looked at; empty before the first.
    var id: [UInt8] = []

    init(numbers: Set<UInt64>) { self.numbers = numbers }

    package init() {}
}

extension Snapshot {
    /// The batch that waits to be shipped and stored a blob; nil: none does.
    fileprivate borrowing func unshippedBatch(
        storing number: UInt64, after sequence: UInt64
    ) throws(StoreError) -> ReplicatedBatch? {
        var found: ReplicatedBatch?
        try forEachBatch(after: sequence) { (batch) throws(StoreError) in
            if batch.blobs.contains(where: { $0.number == number }) { found = batch }
            return found == nil
        }
        return found
    }
}
