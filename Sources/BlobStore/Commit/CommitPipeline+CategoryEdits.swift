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
