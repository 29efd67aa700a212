internal import LMDB

extension BlobStore {
    /// Writes a backup: one moment of the store, checked as it is written. Publishing and reading continue meanwhile.
    ///
    /// All tables but the payloads' bytes are read in one snapshot into an unnamed file in the store's folder,
    /// about 500 bytes for each notification. From then on no blob of that moment is freed until this returns,
    /// however slowly it is taken. Takes 16 bytes of memory for each blob. What is acknowledged and not committed
    /// yet is not in it.
    ///
    /// - Parameters:
    ///   - now: the time that the backup is of.
    ///   - progress: told of the bytes so far, and of all.
    ///   - write: takes at most about 1 MiB. No snapshot is open then. What it throws ends the backup.
    /// - Throws: ``StoreError/corrupt(_:)`` when the store is damaged: no reader takes the backup then. What `write`
    ///   throws.
    @discardableResult
    public func backUp(
        asOf now: Timestamp, progress: (_ byteCount: Int, _ total: Int) -> Void = { _, _ in },
        to write: (RawSpan) throws -> Void
    ) throws -> BackupHead {
        try backUp(asOf: now, missing: nil, progress: progress, to: write)
    }

    /// Like ``backUp(asOf:progress:to:)``, also of a store some of whose payloads are only in the bucket, which
    /// `source` gives; nil: while there are any the backup is refused.
    @discardableResult
    package func backUp(
        asOf now: Timestamp, missing source: LongBlobSource?,
        progress: (_ byteCount: Int, _ total: Int) -> Void = { _, _ in },
        to write: (RawSpan) throws -> Void
    ) throws -> BackupHead {
        try BackupWriter(core, missing: source, asOf: now).run(progress: progress, to: write)
    }

    /// Makes a store of a backup, in a folder that has none. The backup is checked as it is read, and the store
    /// before it gets its name. A power cut leaves the whole store, or none.
    ///
    /// The store has a new id. Its revisions and the ids that it assigns continue 2^40 higher or more
    /// (``StoreLimits/restoredGaps``). A feed's cursor from before is answered with
    /// ``StoreError/resync``, since what it has seen may not be in the backup.
    ///
    /// - Parameters:
    ///   - directory: the new store's folder.
    ///   - options: of the new store.
    ///   - now: the time of the store's beginning.
    ///   - progress: told of the bytes so far, and of all.
    ///   - read: appends up to so many bytes of the backup; nothing at its end.
    /// - Throws: ``BackupError``; ``StoreError/cannotOpen(path:reason:)`` when the folder has a store;
    ///   ``StoreError/full``; what `read` throws. The folder has no store then.
    @discardableResult
    public static func restore(
        to directory: String, options: Options = Options(), asOf now: Timestamp,
        progress: (_ byteCount: Int, _ total: Int) -> Void = { _, _ in },
        from read: (_ buffer: inout [UInt8], _ byteCountMax: Int) throws -> Void
    ) throws -> BackupHead {
        try options.check(directory)
        try Rules.check(now: now)
        // Before the backup: what is wrong with the folder is not to be taken for a fault of it.
        try makeDirectory(directory)
        let lock = try DirectoryLock(directory)
        defer { withExtendedLifetime(lock) {} }
        try requireNoStore(in: directory)
        var reader = try BackupReader(from: read)
        try build(&reader, from: read, in: directory, options, asOf: now, .new, progress: progress)
        return reader.head
    }

    /// Writes a store's file again, without free pages and orphans. It stays the same store, with its id, revisions
    /// and cursors. Nobody may use it meanwhile. Needs room for both files; the new one is verified before it takes
    /// the old one's place, and a power cut leaves one of them.
    ///
    /// - Returns: bytes that the file takes on the disk, before and after.
    /// - Throws: ``StoreError/cannotOpen(path:reason:)`` where a daemon uses it, and others. The store is then as it was.
    public static func compact(
        at directory: String, options: Options = Options(), asOf now: Timestamp,
        progress: (_ byteCount: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> (before: Int, after: Int) {
        _ = try DataFile(in: directory)
        var options = options
        options.isReplicated = true
        let store = try open(at: directory, options: options)
        let before = store.allocatedByteCount
        var writer = try BackupWriter(store.core, for: .compaction, asOf: now)
        var reader = try BackupReader { try writer.read(into: &$0, $1) }
        let after = try build(
            &reader, from: { try writer.read(into: &$0, $1) }, in: directory, options, asOf: now,
            .same, progress: progress)
        return (before, after)
    }

    /// Makes a store of a backup, verifies it, and puts it in its place in a folder that is locked. Returns bytes
    /// that its file takes on the disk. What is in the folder stays until then.
    @discardableResult
    static func build(
        _ reader: inout BackupReader, from read: BackupReader.Source, in directory: String,
        _ options: Options, asOf now: Timestamp, _ identity: Restoration.Identity,
        blobs: LongBlobSource = { _, _ in },
        progress: (_ byteCount: Int, _ total: Int) -> Void
    ) throws -> Int {
        let total = Int(clamping: reader.head.byteCount)
        let staging = try Creation.beginStaging(in: directory, options: options)
        let byteCount: Int
        do {
            // Closed before it is opened again.
            try Restoration.run(
                in: staging, options, asOf: now, identity, &reader, from: read, blobs: blobs
            ) { progress($0, total) }
            byteCount = try verifyRestored(staging, options)
        } catch {
            Creation.removeLeftovers(in: directory)
            throw error
        }
        try Creation.finishStaging(in: directory)
        return byteCount
    }

    /// Checks everything that a restored store has. Returns bytes that its file takes on the disk.
    private static func verifyRestored(
        _ directory: String, _ options: Options
    ) throws(StoreError) -> Int {
        let store = try open(directory, options, isReadOnly: true, lock: nil)
        let report = try store.verify(.bytes, continuesPastDamage: true)
        // A base says of short payloads whose bytes its leader had lost that they are damaged.
        guard report.problemCount == report.quarantinedBlobs else {
            let problem = report.problems.first { !$0.hasSuffix("(quarantined)") }
            throw .corrupt(
                "the backup makes a store with \(report.problemCount) problems: \(problem ?? "")")
        }
        return store.allocatedByteCount
    }

    /// A place in an owner's history; nil when the text is none, or is another owner's. One of a store
    /// whose backup this one comes from is good here, too: places in histories are the same.
    public func historyToken(_ text: RawSpan, owner: RawSpan) -> HistoryToken? {
        for id in [id] + core.predecessors.storeIDs {
            if let token = HistoryToken(text, owner: owner, store: id) { return token }
        }
        return nil
    }

    /// A cursor of one of the owner's feeds; nil when the text is none, or is another owner's.
    ///
    /// - Throws: ``StoreError/resync`` for a cursor of a store whose backup this one comes from, and for one that
    ///   was given by a leader whose later changes were lost.
    public func feedCursor(
        _ text: RawSpan, owner: RawSpan
    ) throws(StoreError) -> FeedCursor? {
        if let cursor = FeedCursor(text, owner: owner, store: id) {
            guard hasRevision(of: cursor) else { throw .resync }
            return cursor
        }
        for id in core.predecessors.storeIDs
        where FeedCursor(text, owner: owner, store: id) != nil {
            throw .resync
        }
        return nil
    }
}
