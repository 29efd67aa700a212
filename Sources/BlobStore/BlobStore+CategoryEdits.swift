internal import LMDB
internal import Synchronization

extension BlobStore {
    /// Whether owners are yet to be told of a category's edit, by this process or one before. One load.
    package var hasCategoryEdits: Bool { pipeline.categoryEdits.load(ordering: .relaxed) }

    /// Tells owners of a category's edit, in one step and one transaction: a line in the feed of each
    /// who has a live notification of that category, once for each edit. A sweep goes on with what a
    /// crash or a full disk left.
    ///
    /// - Returns: whether there is more to do. A step that finds nothing to do writes nothing.
    /// - Throws: ``StoreError/full``, with what earlier steps did done;
    ///   ``StoreError/outcomeUnknown(_:)``.
    package func announceCategoryEdits(asOf now: Timestamp) throws(StoreError) -> Bool {
        let hasMore = try pipeline.whileWriting { () throws(StoreError) in
            try pipeline.inShrinkingSteps(of: StoreLimits.categoryEditOwnerCountMax) {
                (countMax) throws(StoreError) in
                try pipeline.inTransaction(
                    growth: countMax * Change.categoryLineByteCount, asOf: now, isPublishing: true
                ) { (transaction) throws(StoreError) in
                    try transaction.announceCategoryEdit(ownerCountMax: countMax)
                }
            }
        }
        if !hasMore { pipeline.categoryEdits.store(false, ordering: .relaxed) }
        return hasMore
    }

    /// Finds out whether an earlier process, or the leader before, has left edits that not all owners were told of. A
    /// client that repeats one of them waits for that, as the first time. One lookup.
    func loadCategoryEdits() throws(StoreError) {
        let isLeft = try core.withSnapshot { (snapshot) throws(StoreError) in
            var cursor = try snapshot.transaction.cursor(in: core.tables.index)
            return try cursor.firstCategoryEdit() != nil
        }
        pipeline.categoryEdits.store(isLeft, ordering: .relaxed)
    }

    /// Tells all owners of all edits. Where there is no room for it, a later sweep goes on.
    func announceAllCategoryEdits(asOf now: Timestamp) throws(StoreError) {
        do throws(StoreError) {
            while try announceCategoryEdits(asOf: now) {}
        } catch {
            guard case .full = error else { throw error }
            pipeline.categoryEdits.store(false, ordering: .relaxed)
        }
    }
}
