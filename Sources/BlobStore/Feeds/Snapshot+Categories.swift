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
    /// seek a page, and a copy of each.
    ///
    /// - Throws: as ``category(_:)``.
    public borrowing func categories() throws(StoreError) -> [Category] {
        var page = try categories(after: RawSpan())
        var all = page.categories
        while let next = page.next {
            page = try categories(after: next.utf8.span.bytes)
            all += page.categories
        }
        return all
    }

    /// Categories behind `name`, by the bytes of their names: at most
    /// ``StoreLimits/pageByteCountMax`` stored bytes of them. One seek, and a copy of each.
    ///
    /// - Parameter name: the last one that was seen; empty to begin. None longer than a name may be
    ///   has any behind it.
    /// - Throws: as ``category(_:)``.
    public borrowing func categories(
        after name: RawSpan, byteCountMax: Int = StoreLimits.pageByteCountMax
    ) throws(StoreError) -> CategoryPage {
        try requireFeeds()
        var page = CategoryPage(categories: [], next: nil)
        guard name.byteCount <= StoreLimits.categoryByteCountMax else { return page }
        var budget = PageBudget(
            countMax: StoreLimits.categoryCountMax, entryCountMax: StoreLimits.categoryCountMax,
            byteCountMax: byteCountMax)
        let key = IndexKeys.category(name)
        var cursor = try transaction.cursor(in: store.tables.index)
        var isThere = try cursor.seek(key.span.bytes)
        if isThere, cursor.key.isEqual(to: key.span.bytes) { isThere = try cursor.next() }
        while isThere, cursor.key.byte(at: 0) == IndexKeys.categoriesPrefix {
            guard !budget.isSpent, budget.take(cursor.value.byteCount) else {
                page.next = page.categories.last?.name
                break
            }
            page.categories.append(try CategoryEntry.category(cursor.value, key: cursor.key))
            isThere = try cursor.next()
        }
        return page
    }
}

/// A stretch of all categories, by the bytes of their names.
public struct CategoryPage: Sendable {
    /// The categories.
    public var categories: [Category]
    /// The name behind which to go on; nil when there are no more.
    public var next: String?

    /// A page.
    public init(categories: [Category], next: String?) {
        self.categories = categories
        self.next = next
    }
}
