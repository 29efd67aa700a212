internal import Bytes
internal import LMDB

extension CommitPipeline {
    /// Does a change with large blobs: their chunks are written ahead, in several transactions under
    /// numbers that nothing refers to yet, and the last one makes them what the change says. What a
    /// crash leaves of them are orphans.
    func applyStaged(
        _ checked: CheckedChange, asOf now: Timestamp
    ) throws(StoreError) -> Outcome {
        let change = checked.change
        do throws(StoreError) {
            try checkBeforeStaging(change, asOf: now)
            var staged: [Digest: UInt64] = [:]
            var stored: Set<Digest> = []
            for payload in change.stagedPayloads where stored.insert(payload.digest).inserted {
                guard try !core.contains(payload.digest) else { continue }
                staged[payload.digest] = try stage(payload, asOf: now)
            }
            // What is not written ahead comes with the change itself.
            var growth = change.bookkeepingCost.bytes * core.environment.pageScale
            change.forEachPayload { payload in
                guard !stored.contains(payload.digest) else { return }
                growth += payload.chunkCost(pageByteCount: core.environment.pageByteCount)
            }
            return try inTransaction(growth: growth, asOf: now, isPublishing: true) {
                (transaction) throws(StoreError) in
                try transaction.apply(checked, staged: staged)
            }
        } catch {
            if case .outcomeUnknown = error { throw error }
            if case .full = error {
                var growth = change.bookkeepingCost.bytes * core.environment.pageScale
                var byteCount = 0
                change.forEachPayload { payload in
                    growth += payload.chunkCost(pageByteCount: core.environment.pageByteCount)
                    byteCount += payload.storedByteCount
                }
                space.noteRefused(growth: growth, payloadByteCount: byteCount)
            }
            return .refused(error)
        }
    }

    /// Refuses what would be refused in the end, before megabytes are written.
    private func checkBeforeStaging(_ change: Change, asOf now: Timestamp) throws(StoreError) {
        switch change {
        case .publish(let publication):
            try inTransaction(growth: 0, asOf: now, isPublishing: false) {
                (transaction) throws(StoreError) in
                try transaction.check(publication)
            }
        case .hold(let hold):
            try Rules.check(hold.end, asOf: now)
            try inTransaction(growth: 0, asOf: now, isPublishing: false) {
                (transaction) throws(StoreError) in
                try transaction.checkQuotas(hold)
            }
        case .publishNotification(let draft):
            try inTransaction(growth: 0, asOf: now, isPublishing: false) {
                (transaction) throws(StoreError) in
                try transaction.check(draft)
            }
        case .delete, .patch, .remove, .respond, .setCategory, .removeCategory: break
        }
    }

    private func stage(_ payload: PreparedPayload, asOf now: Timestamp) throws(StoreError) -> UInt64
    {
        let batch = StoreLimits.stagedBatchByteCount / StoreLimits.chunkByteCountMax
        var number: UInt64 = 0
        var index = 0
        while index < payload.chunkCount {
            let growth =
                StoreLimits.stagedBatchByteCount
                + Change.bookkeepingByteCount * core.environment.pageScale
            try inTransaction(growth: growth, asOf: now, isPublishing: true) {
                (transaction) throws(StoreError) in
                if index == 0 {
                    number = transaction.takeBlobNumber(payload)
                    try transaction.addStaged(BlobReference(payload, number: number))
                }
                try transaction.writeChunks(
                    of: payload, number: number, from: index, count: batch)
            }
            index += batch
        }
        return number
    }

    /// Stores a blob of several chunks ahead of the batch that refers to it, as a follower. What a failed
    /// attempt or a crash leaves of it is used by the next attempt, or freed like any blob that was written
    /// ahead.
    ///
    /// - Parameter bytes: as stored.
    func stage(_ blob: BlobReference, _ bytes: [UInt8]) throws(StoreError) {
        precondition(bytes.count == blob.storedByteCount)
        let step = StoreLimits.stagedBatchByteCount / StoreLimits.chunkByteCountMax
        for start in stride(from: 0, to: blob.chunkCount, by: step) {
            let end = min(start + step, blob.chunkCount)
            let growth =
                (end - start) * (StoreLimits.chunkByteCountMax + core.environment.pageByteCount)
                + Change.bookkeepingByteCount * core.environment.pageScale
            try change(growth: growth, isPublishing: true) { (transaction) throws(StoreError) in
                if start == 0 { try transaction.addStaged(blob) }
                for index in start..<end {
                    guard try !transaction.hasChunk(of: blob, at: index) else { continue }
                    try transaction.transaction.putChunk(
                        of: blob, at: index, bytes, in: core.tables.chunks)
                }
            }
        }
    }
}

extension ChangeTransaction {
    /// Whether a chunk is there and whole.
    fileprivate borrowing func hasChunk(
        of blob: BlobReference, at index: Int
    ) throws(StoreError) -> Bool {
        let key = Keys.chunk(blob.number, index)
        let byteCount = blob.chunkByteCount(at: index)
        guard let value = try transaction.get(key.bytes, in: tables.chunks),
            value.byteCount == ChunkLayout.prefixByteCount(before: byteCount) + byteCount
        else { return false }
        return Chunk.isWhole(value, key: key.bytes, byteCount: byteCount)
    }
}
