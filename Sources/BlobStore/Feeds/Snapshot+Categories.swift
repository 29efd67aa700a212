internal import LMDB

extension Snapshot {
    /// A category; nil when there is none of that name. One lookup.
    ///
    /// - Throws: ``StoreError/corrupt(_:)``; ``StoreError/cannotOpen(path:reason:)`` where a store
    ///   of an older format was opened for reading only.
    public borrowing func category(_ name: RawSpan) throws(StoreError) -> Category? {
        try requireFeeds()
        guard name.byteCount > 0, name.byteCount <= StoreLimits.categoryByteCountMax else {
            return nil
        }
        let key = IndexKeys.category(name)
        guard let value = try transaction.view.get(key.span.bytes, in: store.tables.index) else {
            return nil
        }
        return try CategoryEntry.category(value, key: key.span.bytes)
    }

    /// All categories, by the bytes of their names; at most ``StoreLimits/categoryCountMax``. One
    /// seek, and a copy of each.
    ///
    /// - Throws: as ``category(_:)``.
    public borrowing func categories() throws(StoreError) -> [Category] {
        try requireFeeds()
        var categories: [Category] = []
        var cursor = try transaction.cursor(in: store.tables.index)
        var isThere = try cursor.seek([IndexKeys.categoriesPrefix].span.bytes)
        while isThere, cursor.key.byte(at: 0) == IndexKeys.categoriesPrefix,
            categories.count < StoreLimits.categoryCountMax
        {
            categories.append(try CategoryEntry.category(cursor.value, key: cursor.key))
            isThere = try cursor.next()
        }
        return categories
    }
}
