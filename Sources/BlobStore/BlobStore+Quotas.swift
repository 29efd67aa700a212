internal import LMDB
internal import Synchronization

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
