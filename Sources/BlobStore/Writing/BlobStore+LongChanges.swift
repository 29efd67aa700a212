extension BlobStore {
    /// Does one step of a long change, in one transaction; returns once it is on disk.
    ///
    /// - Returns: whether that was the last one.
    public func advance(
        _ change: inout LongChange, asOf now: Timestamp
    ) throws(StoreError) -> Bool { throw .notBuilt }
}
