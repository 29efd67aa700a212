internal import LMDB
internal import Synchronization

extension BlobStore {
    /// Walks all pages, recounts everything and reads every byte.
    ///
    /// Where pages are damaged nothing more is looked at: liblmdb does not check what they say, and a walk over
    /// their entries may be the end of the process. `blobd verify` does that in another.
    ///
    /// The counting sees one snapshot. Blobs are read in a snapshot each, so that a verification alongside a daemon
    /// does not make the file grow. Keeps about 150 bytes a blob in memory. Damage is in the report, not thrown.
    public func verify(
        progress: (VerifyProgress) -> Void = { _ in }
    ) throws(StoreError) -> VerifyReport {
        try verify(.bytes, continuesPastDamage: false, progress: progress)
    }

    package typealias VerifyDepth = Verifier.Depth

    /// - Parameters:
    ///   - continuesPastDamage: whether entries are looked at where pages are damaged, which may end the process.
    ///   - found: called with what was found so far, after each table and each blob.
    package func verify(
        _ depth: VerifyDepth, continuesPastDamage: Bool, found: (VerifyReport) -> Void = { _ in },
        progress: (VerifyProgress) -> Void = { _ in }
    ) throws(StoreError) -> VerifyReport {
        try Verifier(core, log).verify(
            depth, continuesPastDamage: continuesPastDamage, found: found, progress: progress)
    }

    /// Walks the pages of a store that is not open: by `pread`, so that no page can end the process. Nobody may
    /// write to it meanwhile.
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

/// A blob of which stored bytes are damaged here. None is sent until they are published again, or fetched.
public struct QuarantinedBlob: Sendable, Hashable {
    /// The SHA-256 of its bytes as given.
    public var digest: Digest
    /// Bytes as given.
    public var byteCount: Int
    /// How many parts refer to it.
    public var referenceCount: Int
    /// When the damage was found.
    public var foundAt: Timestamp
    package var blob: BlobReference
    /// Whether the bucket has it as an object of its own, or among others.
    package var isInBucket: Bool
    package var isAmongOthers: Bool

    init(
        _ blob: BlobReference, referenceCount: UInt64, foundAt: Timestamp, in core: StoreCore
    ) {
        digest = blob.digest
        byteCount = blob.byteCount
        self.referenceCount = Int(clamping: referenceCount)
        self.foundAt = foundAt
        self.blob = blob
        isInBucket = core.isInBucket(blob)
        isAmongOthers = blob.isShippedWithBatch && core.isShipped(blob)
    }
}

/// Damage that was found since the store was opened.
public struct DamageCounts: Sendable, Hashable {
    /// Chunks that were quarantined with their blobs, and blobs whose pages cannot be freed.
    public var chunks: Int
    /// Records, each time that one was met.
    public var records: Int
    /// Entries of the index and of blobs, each time that one was met.
    public var entries: Int
}

extension BlobStore {
    /// What is damaged, by blob number. Two lookups for each.
    public var quarantinedBlobs: [QuarantinedBlob] { quarantined(core.quarantine.entries) }

    package func isDamaged(_ blob: BlobReference) -> Bool { core.quarantine.contains(blob.number) }

    private func quarantined(_ entries: [DamagedBlob]) -> [QuarantinedBlob] {
        guard !entries.isEmpty else { return [] }
        let found = try? core.withSnapshot { (snapshot) throws(StoreError) in
            var blobs: [QuarantinedBlob] = []
            for entry in entries {
                guard
                    let (blob, count) = try snapshot.liveBlob(entry.digest, number: entry.number)
                else { continue }
                blobs.append(
                    QuarantinedBlob(
                        blob, referenceCount: count, foundAt: entry.foundAt, in: core))
            }
            return blobs
        }
        return found ?? []
    }

    /// Damage that was found since the store was opened.
    public var damageCounts: DamageCounts {
        DamageCounts(
            chunks: core.quarantine.corruptChunks.load(ordering: .relaxed),
            records: core.quarantine.damagedRecords.load(ordering: .relaxed),
            entries: core.quarantine.damagedEntries.load(ordering: .relaxed))
    }

    package func makeScrubber() throws(StoreError) -> Scrubber { try Scrubber(core) }

    package func takeUnreportedQuarantine() -> [QuarantinedBlob] {
        quarantined(core.quarantine.takeUnreported())
    }

    /// Blobs whose pages cannot be freed since they are damaged, and why: each once after the store was opened, when
    /// freeing or eviction first meets it. Both step over it from then on.
    package func takeIrremovableBlobs() -> [(number: UInt64, why: String)] {
        core.quarantine.takeIrremovable()
    }

    /// Whether ``Scrubber`` has something to look at that readers have met, or to report.
    package var needsScrubber: Bool { core.quarantine.needsScrubber }

    /// Whether ``Scrubber`` found damage that is not quarantined yet. One load while there is none.
    package var hasConfirmedDamage: Bool { !core.quarantine.confirmed.isEmpty }

    /// Bytes of the pages that hold something, about. Costs a `mdb_stat` a table.
    package func usedByteCount() throws(StoreError) -> Int {
        max(0, core.environment.usedByteCount - (try core.environment.freeByteCount(core.tables)))
    }

    /// Writes how far the store was read again: one commit. On the thread that writes.
    package func write(_ position: ScrubPosition) throws(StoreError) {
        try pipeline.change(isPublishing: false) { (transaction) throws(StoreError) in
            try transaction.set(position)
        }
    }
}
