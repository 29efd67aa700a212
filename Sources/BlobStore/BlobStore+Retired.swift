internal import Bytes
internal import LMDB

extension BlobStore {
    /// Forgets blobs that were retired up to a batch: no base that is kept has them. It is a change like
    /// any other, and followers do it, too.
    ///
    /// - Parameters:
    ///   - sequence: the last batch of the oldest base that is kept.
    ///   - countMax: how many are forgotten in one transaction.
    ///   - now: the present.
    /// - Returns: how many were; fewer than `countMax`: those were all.
    package func pruneRetired(
        upTo sequence: UInt64, countMax: Int = StoreLimits.transactionPutCountMax,
        asOf now: Timestamp
    ) throws(StoreError) -> Int {
        // A follower forgets them when its leader does.
        guard core.replication.state?.role == .leader else { return 0 }
        return try pipeline.change(
            growth: core.environment.bookkeepingGrowth, asOf: now, isPublishing: false
        ) { (transaction) throws(StoreError) in
            var keys: [[UInt8]] = []
            try transaction.walkIndex(IndexKeys.retiredPrefix) { (cursor) throws(StoreError) in
                guard keys.count < countMax,
                    try IndexKeys.retired(cursor.key).sequence <= sequence
                else { return false }
                keys.append(cursor.key.array())
                return true
            }
            for key in keys { try transaction.removeIndex(key) }
            return keys.count
        }
    }
}
