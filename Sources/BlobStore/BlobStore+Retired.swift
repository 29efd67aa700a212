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
            growth: Change.bookkeepingByteCount * core.environment.pageScale, asOf: now,
            isPublishing: false
        ) { (transaction) throws(StoreError) in
            let keys = try transaction.retiredKeys(upTo: sequence, countMax: countMax)
            for key in keys {
                try transaction.transaction.remove(key.span.bytes, in: core.tables.index)
            }
            return keys.count
        }
    }
}

extension ChangeTransaction {
    /// The first keys of retired blobs, up to a batch.
    fileprivate borrowing func retiredKeys(
        upTo sequence: UInt64, countMax: Int
    ) throws(StoreError) -> [[UInt8]] {
        var keys: [[UInt8]] = []
        var cursor = try transaction.cursor(in: tables.index)
        let first = IndexKeys.retired(0, 0)
        var isThere = try cursor.seek(first.span.bytes)
        while isThere, keys.count < countMax, cursor.key.byte(0) == IndexKeys.retiredPrefix,
            try IndexKeys.retired(cursor.key).sequence <= sequence
        {
            keys.append(cursor.key.array())
            isThere = try cursor.next()
        }
        return keys
    }
}
