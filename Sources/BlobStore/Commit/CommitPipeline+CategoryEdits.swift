internal import LMDB
internal import Synchronization

extension BlobStore {
    /// Tells owners of a category's edit, in one step and one transaction: a line in the feed of each
    /// who has a live notification of that category, once for each edit. ``apply(_:asOf:freeing:bootMilliseconds:)``
    /// does all steps, and ``sweepExpired(asOf:limit:)`` goes on with what a crash or a full disk
    /// left.
    ///
    /// - Returns: whether there is more to do. A step that finds nothing to do writes nothing.
    /// - Throws: ``StoreError/full``, with what earlier steps did done;
    ///   ``StoreError/outcomeUnknown(_:)``.
    package func tellCategoryEdits(asOf now: Timestamp) throws(StoreError) -> Bool {
        let hasMore = try whileWriting { () throws(StoreError) in
            try inShrinkingSteps(of: StoreLimits.categoryEditOwnerCountMax) {
                (countMax) throws(StoreError) in
                try inTransaction(
                    growth: countMax * Change.categoryLineByteCount, asOf: now, isPublishing: true
                ) { (transaction) throws(StoreError) in
                    try transaction.tellCategoryEdit(ownerCountMax: countMax)
                }
            }
        }
        if !hasMore { categoryEdits.store(false, ordering: .relaxed) }
        return hasMore
    }

    /// Whether this process has edited a category, and owners are yet to be told of it. One load.
    package var hasCategoryEdits: Bool { categoryEdits.load(ordering: .relaxed) }

    /// Tells all owners of all edits. Where there is no room for it, a later sweep goes on.
    func tellAllCategoryEdits(asOf now: Timestamp) throws(StoreError) {
        do throws(StoreError) {
            while try tellCategoryEdits(asOf: now) {}
        } catch {
            guard case .full = error else { throw error }
            categoryEdits.store(false, ordering: .relaxed)
        }
    }

    /// Whether there is a committed edit that is not told to all yet. One seek.
    func hasCategoryEdit() throws(StoreError) -> Bool {
        try withSnapshot { (snapshot) throws(StoreError) in
            var cursor = try snapshot.transaction.cursor(in: tables.index)
            return try cursor.firstCategoryEdit() != nil
        }
    }
}

extension Change {
    /// Whether owners may have to be told of it (``BlobStore/tellCategoryEdits(asOf:)``).
    package var isCategoryEdit: Bool {
        switch self {
        case .setCategory, .removeCategory: true
        default: false
        }
    }
}
