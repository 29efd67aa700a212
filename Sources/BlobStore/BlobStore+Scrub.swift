internal import LMDB
internal import Synchronization

/// A blob of which stored bytes are damaged. None of them is sent, until they are published again.
public struct QuarantinedBlob: Sendable, Hashable {
    /// The SHA-256 of its bytes as given.
    public var digest: Digest
    /// Bytes as given.
    public var byteCount: Int
    /// How many parts refer to it.
    public var referenceCount: Int
    /// When the damage was found.
    public var foundAt: Timestamp
    /// The number its chunks are kept under.
    package var number: UInt64

    init(_ entry: QuarantineEntry) {
        digest = entry.blob.digest
        byteCount = entry.blob.byteCount
        referenceCount = Int(clamping: entry.referenceCount)
        foundAt = entry.foundAt
        number = entry.blob.number
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
    /// What is quarantined, by blob number.
    public var quarantinedBlobs: [QuarantinedBlob] {
        core.quarantine.entries.map { QuarantinedBlob($0) }
    }

    /// Damage that was found since the store was opened.
    public var damageCounts: DamageCounts {
        DamageCounts(
            chunks: core.quarantine.corruptChunks.load(ordering: .relaxed),
            records: core.quarantine.damagedRecords.load(ordering: .relaxed),
            entries: core.quarantine.damagedEntries.load(ordering: .relaxed))
    }

    /// What reads the store again; see ``Scrubber``.
    package func makeScrubber() throws(StoreError) -> Scrubber { try Scrubber(core) }

    /// What was quarantined and not reported yet.
    package func takeUnreportedQuarantine() -> [QuarantinedBlob] {
        core.quarantine.takeUnreported().map { QuarantinedBlob($0) }
    }

    /// Whether ``Scrubber`` has something to look at that readers have met, or to report.
    package var needsScrubber: Bool { core.quarantine.needsScrubber }

    /// Whether ``Scrubber`` found damage that is not quarantined yet. One load while there is none.
    package var hasConfirmedDamage: Bool { !core.quarantine.confirmed.isEmpty }

    /// Bytes of the pages that hold something, about. Costs a `mdb_stat` a table.
    package func usedByteCount() throws(StoreError) -> Int {
        max(0, core.environment.usedByteCount - (try core.environment.freeByteCount(core.tables)))
    }

    /// Quarantines what ``Scrubber`` found damaged, and does one step of healing what was published again.
    /// Costs two loads while there is nothing. On the thread that writes.
    ///
    /// - Parameter position: where healing goes on; it is moved on.
    /// - Returns: whether there is more to do.
    package func tendQuarantine(
        _ position: inout HealingPosition, recordCountMax: Int = 8_192, asOf now: Timestamp
    ) throws(StoreError) -> Bool {
        try maintenance.quarantineFound(asOf: now)
        return try maintenance.heal(&position, recordCountMax: recordCountMax, asOf: now)
    }

    /// Writes how far the store was read again: one commit. On the thread that writes.
    package func write(_ position: ScrubPosition) throws(StoreError) {
        try pipeline.whileWriting { () throws(StoreError) in
            try pipeline.inTransaction(
                growth: 0, asOf: Timestamp(milliseconds: 0), isPublishing: false
            ) { (transaction) throws(StoreError) in
                try transaction.setMeta(ScrubMark.name, to: position.mark.bytes)
            }
        }
    }
}
