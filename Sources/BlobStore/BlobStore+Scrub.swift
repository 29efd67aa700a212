internal import LMDB
internal import Synchronization

/// A blob of which stored bytes are damaged here. None of them is sent until they are published again, or
/// fetched from the bucket.
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
    /// Chunks that were quarantined with their blobs.
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
            try transaction.set(position.mark)
        }
    }
}
