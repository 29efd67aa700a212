internal import LMDB
internal import Synchronization

extension CommitPipeline {
    /// One step of ``BlobStore/announceCategoryEdits(asOf:)``.
    func announceCategoryEdits(asOf now: Timestamp) throws(StoreError) -> Bool {
        let hasMore = try whileWriting { () throws(StoreError) in
            try inShrinkingSteps(of: StoreLimits.categoryEditOwnerCountMax) {
                (countMax) throws(StoreError) in
                try inTransaction(
                    growth: countMax * Change.categoryLineByteCount, asOf: now, isPublishing: true
                ) { (transaction) throws(StoreError) in
                    try transaction.announceCategoryEdit(ownerCountMax: countMax)
                }
            }
        }
        if !hasMore { categoryEdits.store(false, ordering: .relaxed) }
        return hasMore
    }

    /// Finds out whether an earlier process, or the leader before, has left edits that not all owners were told of. A
    /// client that repeats one of them waits for that, as the first time. One lookup.
    func loadCategoryEdits() throws(StoreError) {
        let isLeft = try core.withSnapshot { (snapshot) throws(StoreError) in
            var cursor = try snapshot.transaction.cursor(in: core.tables.index)
            return try cursor.firstCategoryEdit() != nil
        }
        categoryEdits.store(isLeft, ordering: .relaxed)
    }

    /// Tells all owners of all edits. Where there is no room for it, a later sweep goes on.
    func announceAllCategoryEdits(asOf now: Timestamp) throws(StoreError) {
        do throws(StoreError) {
            while try announceCategoryEdits(asOf: now) {}
        } catch {
            guard case .full = error else { throw error }
            categoryEdits.store(false, ordering: .relaxed)
        }
    }
}
