internal import LMDB

extension BlobStore {
    /// Walks all pages, recounts everything and reads every byte: records, references, the index,
    /// counters, what else `meta` has, and each blob's chunks against their checksums and its digest.
    ///
    /// Where pages are damaged nothing more is looked at: liblmdb does not check what they say, and a
    /// walk over their entries may be the end of the process. `blobd verify` does that in another.
    ///
    /// The counting sees one snapshot. Blobs are read in a snapshot each, so that a verification
    /// beside a daemon does not make the file grow; one that is deleted meanwhile is left out.
    /// Reads the whole store, and keeps about 150 bytes a blob in memory.
    ///
    /// - Parameter progress: called after each blob.
    /// - Returns: what was found; damage is in the report, not thrown.
    /// - Throws: ``StoreError/readersFull``, or what keeps the tables from being walked at all.
    public func verify(
        progress: (VerifyProgress) -> Void = { _ in }
    ) throws(StoreError) -> VerifyReport {
        try verify(.bytes, goesOnBehindDamage: false, progress: progress)
    }

    package typealias VerifyDepth = Verifier.Depth

    /// Verifies as deep as is asked for.
    ///
    /// - Parameters:
    ///   - goesOnBehindDamage: whether entries are looked at where pages are damaged, which may end
    ///     the process.
    ///   - found: called with what was found so far, after each table and each blob.
    package func verify(
        _ depth: VerifyDepth, goesOnBehindDamage: Bool, found: (VerifyReport) -> Void = { _ in },
        progress: (VerifyProgress) -> Void = { _ in }
    ) throws(StoreError) -> VerifyReport {
        try Verifier(core, log).verify(
            depth, goesOnBehindDamage: goesOnBehindDamage, found: found, progress: progress)
    }

    /// Walks the pages of `data.mdb` in `directory` without opening the store: reads only, by
    /// `pread`, so that no page can end the process. Nobody may write to the store meanwhile.
    ///
    /// - Returns: what is wrong with the structure; nothing is looked at beyond it.
    /// - Throws: ``StoreError/cannotOpen(path:reason:)``.
    package static func checkPages(at directory: String) throws(StoreError) -> VerifyReport {
        try PageCheck.check(directory, .all)
    }

    /// Calls `body` while nobody else can open the store for writing; nil when somebody has.
    package static func whileLocked<Result>(
        _ directory: String, _ body: () throws -> Result
    ) rethrows -> Result? {
        guard let lock = try? DirectoryLock(directory) else { return nil }
        defer { withExtendedLifetime(lock) {} }
        return try body()
    }
}
