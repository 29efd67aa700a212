internal import LMDB

extension BlobStore {
    /// Makes a store of format version 1 one of version 2: counts what each owner has, in one transaction.
    /// Nothing happens in a store of version 2.
    ///
    /// Reads every record once, and keeps about 100 bytes an owner in memory meanwhile. A crash leaves the
    /// store as it was, or with all of it.
    func upgrade() throws(StoreError) {
        let usages = try core.withSnapshot { (snapshot) throws(StoreError) in
            try snapshot.format().countsOwners ? nil : try snapshot.countedUsages()
        }
        guard let usages else { return }
        let growth = try core.withSnapshot { (snapshot) throws(StoreError) in
            try snapshot.growth(of: usages.count)
        }
        try pipeline.change(growth: growth, isPublishing: true) {
            (transaction) throws(StoreError) in
            for (owner, usage) in usages {
                try transaction.set(usage, of: String(decoding: owner, as: UTF8.self))
            }
            try transaction.requireFormat(FormatRecord.version)
        }
    }
}

extension Snapshot {
    /// What each owner has, as the records say, in the order of their keys.
    fileprivate borrowing func countedUsages() throws(StoreError) -> [([UInt8], OwnerUsage)] {
        // By bytes: as texts, two owners may be the same.
        var usages: [[UInt8]: OwnerUsage] = [:]
        try walk(tables.notifications) { (cursor) throws(StoreError) in
            // One that is damaged does not count; `verify` names it.
            if let record = try? cursor.record(), let owner = record.owner {
                usages[Array(owner.utf8), default: OwnerUsage()].add(record.byteCount)
            }
            return true
        }
        return usages.sorted { $0.key.lexicographicallyPrecedes($1.key) }
            .map { ($0.key, $0.value) }
    }

    /// Bytes of the pages that are copied and added for so many owners: not more than two for each, and
    /// not more than twice all that there are.
    fileprivate borrowing func growth(of ownerCount: Int) throws(StoreError) -> Int {
        let pageByteCount = store.environment.pageByteCount
        do throws(LMDBError) {
            let pageCount = try transaction.pageCount(of: [store.tables.index])
            return (min(2 * ownerCount, 2 * pageCount) + 16) * pageByteCount + ownerCount * 384
        } catch {
            throw StoreError(error)
        }
    }
}
