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
    /// The number that is tried first as an assigned id.
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
    /// Leaves a gap in revisions and assigned ids, where a history that was lost, or that continues elsewhere, may have
    /// given more of them than are known here. A cursor with a revision from there has seen other changes.
    mutating func skip(_ gap: UInt64) throws(StoreError) {
        revision = try Self.number(gap, after: revision, "revision")
        try skipIDs(gap)
    }

    /// Leaves one in assigned ids only. An id from there is in links that were sent: given again, it would show one
    /// user what another one got.
    mutating func skipIDs(_ gap: UInt64) throws(StoreError) {
        nextNotificationNumber = try Self.number(gap, after: nextNotificationNumber, "assigned id")
    }

    /// Leaves one in blob numbers.
    mutating func skipBlobs(_ gap: UInt64) throws(StoreError) {
        nextBlobNumber = try Self.number(gap, after: nextBlobNumber, "blob number")
    }

    private static func number(
        _ gap: UInt64, after number: UInt64, _ name: String
    ) throws(StoreError) -> UInt64 {
        let (next, isTooHigh) = number.addingReportingOverflow(gap)
        guard !isTooHigh, next <= StoreLimits.counterMax else {
            throw .corrupt("the \(name) \(number) leaves no room for a gap of \(gap)")
        }
        return next
    }

    /// Takes back a gap that nothing was given after.
    mutating func unskip(_ gap: UInt64) {
        revision -= gap
        nextNotificationNumber -= gap
    }

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
