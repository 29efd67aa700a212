internal import LMDB

extension BlobStore {
    /// Frees the reader slots of processes that died (`mdb_reader_check`), whose snapshots would
    /// keep space from being used again for ever.
    ///
    /// - Returns: how many were freed.
    @discardableResult
    public func checkReaders() throws(StoreError) -> Int {
        do throws(LMDBError) {
            return try environment.checkReaders()
        } catch {
            throw StoreError(error)
        }
    }

    /// Gives back what `data.mdb` has allocated at its end and has not needed lately (`ftruncate`).
    /// Pages in use are never touched. Call it about once a second: what was asked for between two
    /// calls is kept for one more.
    public func trimFile() throws(StoreError) {
        precondition(!isReadOnly, "the store was opened for reading only")
        try whileWriting { () throws(StoreError) in space.trim() }
    }

    /// Whether a publish could be stored now. Call it where changes are made.
    ///
    /// While none was refused this costs a look at the room there is. After a publish was refused
    /// for want of room, the same room is tried for in a transaction that is not committed, until it
    /// is there: so ask about once a second. A publish that would not fit an empty store says nothing
    /// of this one.
    ///
    /// - Throws: ``StoreError/full`` when there is no room, ``StoreError/outcomeUnknown(_:)`` when
    ///   a sync has failed.
    public func checkWritable() throws(StoreError) {
        try checkSyncs()
        try space.prepare(growth: Change.bookkeepingByteCount * environment.pageScale)
        let refused = space.refused
        guard refused.isAny else { return }
        guard space.hasRoom(incoming: refused.incomingByteCount) else { throw .full }
        if refused.growth > 0 { try tryGrowth(refused) }
        space.forget(refused)
    }

    /// Puts so many bytes, or as many as one transaction of a large blob has, into a transaction that
    /// is not committed.
    private func tryGrowth(_ refused: Refused) throws(StoreError) {
        let growth = refused.growth
        try whileWriting { () throws(StoreError) in
            // The bytes on their way in take room of the same disk meanwhile.
            let room = try space.prepare(growth: growth + refused.incomingByteCount)
            do throws(StoreError) {
                try putAndAbort(growth)
            } catch {
                // Pages that the last commit freed are not free before the next one.
                guard case .full = error, room == .inFreePages else { throw error }
                try ripenFreePages(asOf: Timestamp(milliseconds: 0))
                try putAndAbort(growth)
            }
        }
    }

    private func putAndAbort(_ growth: Int) throws(StoreError) {
        let chunk = [UInt8](repeating: 0, count: StoreLimits.chunkByteCountMax)
        var rest = min(growth, StoreLimits.stagedBatchByteCount)
        var index: UInt32 = 0
        do throws(LMDBError) {
            var transaction = try environment.beginWrite()
            while rest > 0 {
                // Behind all chunks: no blob has this number.
                let key = ChunkKey(number: .max, index: index)
                try transaction.put(chunk.span.bytes, forKey: key.bytes, in: tables.chunks)
                rest -= chunk.count
                index += 1
            }
        } catch {
            throw failure(of: error, growth: growth)
        }
    }
}
