internal import LMDB
internal import Synchronization

extension Maintenance {
    /// See ``BlobStore/freeOrphans(byteCountMax:bootMilliseconds:)``.
    func freeOrphans(
        byteCountMax: Int, bootMilliseconds: Int64? = nil
    ) throws(StoreError) -> FreeResult {
        let isThere = try core.withSnapshot { (snapshot) throws(StoreError) in
            var cursor = try snapshot.transaction.cursor(in: core.tables.orphans)
            return try cursor.first() && cursor.isAtOrphan
        }
        guard isThere else { return FreeResult() }
        return try pipeline.whileWriting { () throws(StoreError) in
            let rule = pipeline.freeingRule(bootMilliseconds: bootMilliseconds)
            let first = pipeline.freeing.withLock { $0.nextNumberAlone }
            let found = try core.withSnapshot { (snapshot) throws(StoreError) in
                var cursor = try snapshot.transaction.cursor(in: core.tables.orphans)
                return try cursor.orphans(
                    allowedBy: rule, from: first, byteCountMax: byteCountMax,
                    lookingAt: StoreLimits.freedCountMax)
            }
            // Where many have to wait, each step looks at some of them.
            let isCutShort = found.lookedAt >= StoreLimits.freedCountMax && !found.isAll
            pipeline.freeing.withLock { $0.nextNumberAlone = isCutShort ? found.nextNumber : 0 }
            guard !found.ready.isEmpty else { return FreeResult() }
            var result = try pipeline.inTransaction(
                growth: 0, asOf: Timestamp(milliseconds: 0), isPublishing: false
            ) { (transaction) throws(StoreError) in
                try transaction.free(found.ready, byteCountMax: byteCountMax)
            }
            if !found.isAll { result.more = true }
            return result
        }
    }
}
