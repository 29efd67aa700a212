internal import Bytes
internal import LMDB

extension CommitPipeline {
    /// Does a change with large blobs: their chunks are written ahead, in several transactions, under numbers that
    /// nothing refers to yet. What a crash leaves of them are orphans.
    func applyStaged(
        _ checked: CheckedChange, asOf now: Timestamp
    ) throws(StoreError) -> Outcome {
        let change = checked.change
        do throws(StoreError) {
            try commitPending()
            // What would be refused in the end is refused before megabytes are written.
            try inTransaction(asOf: now, isPublishing: false) { (transaction) throws(StoreError) in
                try transaction.check(change)
            }
            var staged: [Digest: UInt64] = [:]
            var stored: Set<Digest> = []
            for payload in change.stagedPayloads where stored.insert(payload.digest).inserted {
                guard try !core.contains(payload.digest) else { continue }
                staged[payload.digest] = try stage(payload, asOf: now)
            }
            return try inTransaction(
                growth: growth(of: change, without: stored), asOf: now, isPublishing: true
            ) { (transaction) throws(StoreError) in
                try transaction.apply(checked, staged: staged)
            }
        } catch {
            if case .outcomeUnknown = error { throw error }
            if case .full = error {
                var byteCount = 0
                change.forEachPayload { byteCount += $0.storedByteCount }
                space.noteRefused(
                    growth: growth(of: change, without: []), payloadByteCount: byteCount)
            }
            return .refused(error)
        }
    }

    /// Bytes that a change may add to the file, but for blobs that are written ahead.
    private func growth(of change: Change, without stored: Set<Digest>) -> Int {
        var growth = change.bookkeepingCost.bytes * core.environment.pageScale
        change.forEachPayload { payload in
            guard !stored.contains(payload.digest) else { return }
            growth += payload.chunkCost(pageByteCount: core.environment.pageByteCount)
        }
        return growth
    }

    private func stage(_ payload: PreparedPayload, asOf now: Timestamp) throws(StoreError) -> UInt64
    {
        let step = StoreLimits.stagedBatchByteCount / StoreLimits.chunkByteCountMax
        var number: UInt64 = 0
        for index in stride(from: 0, to: payload.chunkCount, by: step) {
            let growth = StoreLimits.stagedBatchByteCount + core.environment.bookkeepingGrowth
            try inTransaction(growth: growth, asOf: now, isPublishing: true) {
                (transaction) throws(StoreError) in
                if index == 0 {
                    number = transaction.takeBlobNumber(payload)
                    try transaction.addStaged(BlobReference(payload, number: number))
                }
                try transaction.writeChunks(of: payload, number: number, from: index, count: step)
            }
        }
        return number
    }
}

extension ChangeTransaction {
    /// Throws what a change with large blobs is refused for, with nothing changed.
    fileprivate borrowing func check(_ change: Change) throws(StoreError) {
        switch change {
        case .publish(let publication): try check(publication)
        case .hold(let hold):
            try Rules.check(hold.end, asOf: now)
            try checkQuotas(hold)
        case .publishNotification(let draft): try check(draft)
        case .delete, .patch, .remove, .respond, .setCategory, .removeCategory: break
        }
    }
}
