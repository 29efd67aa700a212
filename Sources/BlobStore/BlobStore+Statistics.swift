internal import LMDB
internal import Synchronization

/// What the store holds, as of one moment; exact.
public struct Statistics: Sendable, Hashable {
    /// Notifications, expired ones that are still remembered included.
    public var notifications: Int
    /// Parts of all of them.
    public var parts: Int
    /// Distinct blobs that parts refer to, or that are held.
    public var blobs: Int
    /// Bytes as given, each blob once.
    public var bytes: Int
    /// Bytes as stored, each blob once.
    public var bytesStored: Int
    /// Bytes as given, for every part that refers to them.
    public var bytesReferenced: Int
    /// Blobs that nothing refers to and whose chunks are not freed yet.
    public var orphanBlobs: Int
    /// Their stored bytes.
    public var orphanBytes: Int
    /// Removals that are remembered for who was away.
    public var tombstones: Int
    /// Blobs that are kept for a while whether parts refer to them or not.
    public var heldBlobs: Int
    /// Categories.
    public var categories: Int
    /// Leases held in this process.
    public var leases: Int
    /// The size of `data.mdb`.
    public var fileByteCount: Int
    /// Bytes in `data.mdb` that hold nothing and will be used again.
    public var freeByteCount: Int
    /// The last change's number.
    public var revision: UInt64
}

extension BlobStore {
    /// What the store holds, with all that was acknowledged; the sizes of the file are those of the last commit.
    /// `mdb_stat` for each table.
    public func statistics() throws(StoreError) -> Statistics {
        let counters = try pipeline.counters()
        let fileByteCount = pipeline.space.fileByteCount
        let used = core.environment.usedByteCount
        return Statistics(
            notifications: Int(clamping: counters.notifications),
            parts: Int(clamping: counters.parts), blobs: Int(clamping: counters.blobs),
            bytes: Int(clamping: counters.bytes), bytesStored: Int(clamping: counters.bytesStored),
            bytesReferenced: Int(clamping: counters.bytesReferenced),
            orphanBlobs: Int(clamping: counters.orphanBlobs),
            orphanBytes: Int(clamping: counters.orphanBytes),
            tombstones: Int(clamping: counters.tombstones),
            heldBlobs: Int(clamping: counters.heldBlobs),
            categories: Int(clamping: counters.categories), leases: core.leases.count,
            fileByteCount: fileByteCount,
            freeByteCount: try core.environment.freeByteCount(core.tables)
                + max(0, fileByteCount - used),
            revision: counters.revision)
    }
}

// What those who watch a store want to know of it, besides what it holds.

extension BlobStore {
    package var writeDurations: WriteDurations { core.durations }

    package var pendingLogByteCount: Int { pipeline.logByteCount.load(ordering: .relaxed) }

    /// When the first thing ends that the store still has: later than now where the sweep keeps up. One seek.
    package func firstEnd() throws(StoreError) -> Timestamp? {
        try makeSnapshot().dueEntries(asOf: Timestamp(milliseconds: .max), limit: 1).first?.time
    }

    /// The commit that the oldest open snapshot of any process sees; nil when none is older than the last.
    package func oldestSnapshot() -> UInt64? {
        let last = core.lastCommit.load(ordering: .acquiring)
        guard let oldest = core.environment.oldestReader(), oldest < last else { return nil }
        return oldest
    }
}

extension BlobStore {
    /// How much there may be.
    public var quotas: Quotas { core.adjustable.withLock { $0.quotas } }

    /// Changes how much there may be. A quota below what is there refuses only growth.
    public func setQuotas(_ quotas: Quotas) { core.adjustable.withLock { $0.quotas = quotas } }

    /// Bytes that the file system of `data.mdb` has free; nil where that is not known. One `fstatvfs`.
    public var freeDiskByteCount: Int? {
        Disk(core.environment.dataDescriptor)?.availableByteCount
    }
}
