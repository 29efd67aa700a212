extension Counters {
    /// Throws ``StoreError/quotaExceeded(_:)`` where the store would grow beyond one of its quotas.
    ///
    /// - Parameters:
    ///   - quotas: those of owners are not looked at.
    ///   - freeDiskByteCount: what the file system has free; nil: it is not known.
    ///   - storedGrowth: stored bytes that come, or go.
    ///   - notificationGrowth: notifications that come.
    func check(
        _ quotas: Quotas, freeDiskByteCount: Int?, storedGrowth: Int, notificationGrowth: Int
    ) throws(StoreError) {
        try quotas.check(
            .notificationCountMax, quotas.notificationCountMax, used: notifications,
            growth: notificationGrowth)
        try quotas.check(
            .byteCountMax, quotas.byteCountMax, used: bytesStored, growth: storedGrowth)
        if storedGrowth > 0 || notificationGrowth > 0, let free = freeDiskByteCount,
            free < quotas.freeDiskByteCountMin
        {
            throw .quotaExceeded(
                QuotaExcess(
                    setting: .freeDiskByteCountMin, limit: quotas.freeDiskByteCountMin, used: free,
                    growth: max(0, storedGrowth)))
        }
    }
}

extension Quotas {
    /// The same for one count.
    func check(
        _ setting: QuotaSetting, _ limit: Int, used: UInt64, growth: Int
    ) throws(StoreError) {
        let used = Int(clamping: used)
        guard limit > 0, growth > 0, growth > limit - min(used, limit) else { return }
        throw .quotaExceeded(
            QuotaExcess(setting: setting, limit: limit, used: used, growth: growth))
    }
}
