internal import LMDB
internal import Synchronization

extension BlobStore {
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
        try pipeline.checkSyncs()
        try pipeline.space.prepare(growth: core.environment.bookkeepingGrowth)
        let refused = pipeline.space.refused
        if refused.isAny {
            guard pipeline.space.hasRoom(incoming: refused.incomingByteCount) else { throw .full }
            if refused.growth > 0 { try tryGrowth(refused) }
            pipeline.space.forget(refused)
        }
        try checkQuotas(byteCount: byteCount)
    }

    /// Throws ``StoreError/quotaExceeded(_:)`` where a notification with so many new stored bytes would
    /// make the store pass a quota. Costs nothing where there is none.
    private func checkQuotas(byteCount: Int) throws(StoreError) {
        let quotas = core.quotas.withLock { $0 }
        guard quotas.isAny else { return }
        let free =
            quotas.freeDiskByteCountMin > 0
            ? Disk(core.environment.dataDescriptor)?.availableByteCount : nil
        try pipeline.counters().check(
            quotas, freeDiskByteCount: free, storedGrowth: byteCount, notificationGrowth: 1)
    }

    /// Puts so many bytes, or as many as one transaction of a large blob has, into a transaction that
    /// is not committed.
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
                // Behind all chunks: no blob has this number.
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
