internal import LMDB
internal import Synchronization

// What those who watch a store want to know of it, besides what it holds.

extension BlobStore {
    package var writeDurations: WriteDurations { core.durations }

    package var pendingLogByteCount: Int { pipeline.logByteCount.load(ordering: .relaxed) }

    /// When the first thing ends that the store still has: a notification, a tombstone, a hold. nil
    /// when there is none. It is later than now where the sweep keeps up. One seek.
    package func firstEnd() throws(StoreError) -> Timestamp? {
        try withSnapshot { (snapshot) throws(StoreError) in
            try snapshot.dueEntries(asOf: Timestamp(milliseconds: .max), limit: 1).first?.time
        }
    }

    /// The commit that the oldest open snapshot of any process sees; nil when none sees an older one
    /// than this process's last. A look at LMDB's reader table (`mdb_reader_list`).
    package func oldestSnapshot() throws(StoreError) -> UInt64? {
        let last = core.lastCommit.load(ordering: .acquiring)
        let oldest = try StoreError.converting { () throws(LMDBError) in
            try core.environment.oldestReader()
        }
        guard let oldest, oldest < last else { return nil }
        return oldest
    }
}

extension BlobStore {
    /// How much there may be.
    public var quotas: Quotas { core.quotas.withLock { $0 } }

    /// Changes how much there may be, from the next batch of changes on. What is there stays: a quota
    /// below it refuses growth alone.
    public func setQuotas(_ quotas: Quotas) { core.quotas.withLock { $0 = quotas } }

    /// Bytes that the file system of `data.mdb` has free; nil where that is not known. One `fstatvfs`.
    public var freeDiskByteCount: Int? {
        Disk(core.environment.dataDescriptor)?.availableByteCount
    }
}
