internal import Bytes
internal import LMDB

extension Snapshot {
    /// A category of one app, or of all apps where `app` is nil. One lookup.
    public borrowing func category(
        _ name: String, app: String? = nil
    ) throws(StoreError) -> Category? {
        try category(name, of: app)
    }

    /// The category that sets a notification's buttons if it has none of its own: that of its app, or else that of all
    /// apps. Nil if it names none that exists.
    public borrowing func category(of record: Record) throws(StoreError) -> Category? {
        guard let name = record.details.category else { return nil }
        return try category(name, for: record.app)
    }

    /// All categories, by the bytes of their names, then of their apps. A copy of each.
    public borrowing func categories() throws(StoreError) -> [Category] {
        var page = try categories(after: RawSpan())
        var all = page.categories
        while let next = page.next {
            page = try categories(after: next.utf8.span.bytes)
            all += page.categories
        }
        return all
    }

    /// Categories after `cursor`: at most ``StoreLimits/pageByteCountMax`` stored bytes of them.
    ///
    /// - Parameters:
    ///   - cursor: the name of the last one that was seen, or its name, `/` and its app; empty to begin.
    ///   - byteCountMax: stored bytes of a page.
    public borrowing func categories(
        after cursor: RawSpan, byteCountMax: Int = StoreLimits.pageByteCountMax
    ) throws(StoreError) -> CategoryPage {
        var page = CategoryPage(categories: [], next: nil)
        // Names have no slash.
        let nameEnd = cursor.index(of: 0x2F)
        guard nameEnd <= StoreLimits.categoryByteCountMax,
            cursor.byteCount - nameEnd <= StoreLimits.appByteCountMax + 1
        else { return page }
        var budget = PageBudget(
            countMax: StoreLimits.categoryCountMax, entryCountMax: StoreLimits.categoryCountMax,
            byteCountMax: byteCountMax)
        var key = [IndexKeys.categoriesPrefix] + cursor.array()
        if nameEnd < cursor.byteCount { key[nameEnd + 1] = 0 }
        try walk(tables.index, after: key.span.bytes) { (cursor) throws(StoreError) in
            guard cursor.key.byte(0) == IndexKeys.categoriesPrefix else { return false }
            guard !budget.isSpent, budget.take(cursor.value.byteCount) else {
                page.next = page.categories.last?.cursor
                return false
            }
            page.categories.append(try Category(cursor.value, key: cursor.key))
            return true
        }
        return page
    }
}

/// A stretch of all categories, by the bytes of their names, then of their apps.
public struct CategoryPage: Sendable {
    /// The categories.
    public var categories: [Category]
    /// The cursor after which to continue, a name, or a name, `/` and an app; nil when there are no
    /// more.
    public var next: String?

    /// A page.
    public init(categories: [Category], next: String?) {
        self.categories = categories
        self.next = next
    }
}

extension Category {
    fileprivate var cursor: String { app.map { "\(name)/\($0)" } ?? name }

    /// Whether a category may have that name and app. Others are looked up by no key.
    static func mayBeStored(_ name: String, app: String?) -> Bool {
        guard !name.isEmpty, name.utf8.count <= StoreLimits.categoryByteCountMax,
            !name.utf8.contains(0)
        else { return false }
        guard let app else { return true }
        return !app.isEmpty && app.utf8.count <= StoreLimits.appByteCountMax
    }
}
