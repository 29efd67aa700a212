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

    /// Whether a publish could be committed now. Nothing is written, and a commit under way is not
    /// waited for.
    ///
    /// - Throws: ``StoreError/full`` when there is no room, ``StoreError/outcomeUnknown(_:)`` when
    ///   a sync has failed.
    public func checkWritable() throws(StoreError) {
        try checkSyncs()
        try space.prepare(growth: Change.bookkeepingByteCount)
    }
}
