internal import Bytes

/// The value `counters` of the table `meta`. It changes in the transaction that changes what it counts.
struct Counters: Equatable, MetaValue, WordsValue {
    var notifications: UInt64 = 0
    var parts: UInt64 = 0
    var blobs: UInt64 = 0
    /// As given, each blob once.
    var bytes: UInt64 = 0
    /// As stored, each blob once.
    var bytesStored: UInt64 = 0
    /// As given, every part.
    var bytesReferenced: UInt64 = 0
    var orphanBlobs: UInt64 = 0
    /// As stored.
    var orphanBytes: UInt64 = 0
    var nextBlobNumber: UInt64 = 1
    var nextNotificationNumber: UInt64 = 0
    /// The last change's number.
    var revision: UInt64 = 0
    /// What is remembered of notifications that left their owners.
    var tombstones: UInt64 = 0
    /// Blobs with a hold, whether parts refer to them or not.
    var heldBlobs: UInt64 = 0
    var categories: UInt64 = 0
    /// The highest revision of a tombstone or a purge marker that was forgotten: places in a feed
    /// before it are too old.
    var horizon: UInt64 = 0

    static let name = "counters"
    static let byteCount = 128
    static let form = ValueForm("the counters", byteCount: byteCount, checksumAt: 120)

    /// All of them are added to, and none is ever as high.
    var isSound: Bool {
        withUnsafeBytes(of: self) {
            $0.bindMemory(to: UInt64.self).allSatisfy { $0 <= StoreLimits.counterMax }
        }
    }
}

extension Counters {
    /// Throws ``StoreError/quotaExceeded(_:)`` where the store would grow beyond one of its own quotas.
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
    func check(
        _ setting: QuotaSetting, _ limit: Int, used: UInt64, growth: Int
    ) throws(StoreError) {
        let used = Int(clamping: used)
        guard limit > 0, growth > 0, growth > limit - min(used, limit) else { return }
        throw .quotaExceeded(
            QuotaExcess(setting: setting, limit: limit, used: used, growth: growth))
    }
}
