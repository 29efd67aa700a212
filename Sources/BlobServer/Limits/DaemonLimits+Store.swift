import BlobStore

extension DaemonLimits {
    /// What of them is the store's.
    var storeOptions: StoreOptions {
        var options = StoreOptions()
        options.payloadByteCountMax = payloadByteCountMax
        options.watcherCountMax = watcherCountMax
        options.watcherCountPerOwnerMax = watcherCountPerOwnerMax
        options.watcherCountPerPeerMax = watcherCountPerPeerMax
        options.freeAllocatedByteCountMin = freeAllocatedByteCountMin
        options.tombstoneRetentionMilliseconds = tombstoneRetentionMilliseconds
        options.quotas = quotas
        return options
    }
}
