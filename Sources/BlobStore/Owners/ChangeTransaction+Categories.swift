internal import Bytes
internal import LMDB

extension ChangeTransaction {
    /// Stores a category. One that says what is there already writes nothing.
    mutating func setCategory(
        _ category: Category, _ condition: Condition
    ) throws(StoreError) -> Outcome {
        let old: Category?
        do throws(StoreError) {
            old = try self.category(category.name, of: category.app)
            try condition.check(category: old)
        } catch {
            return try Self.refused(error)
        }
        if let old, old.saysSame(as: category) { return .categorySet(old, created: false) }
        guard old != nil || counters.categories < UInt64(StoreLimits.categoryCountMax) else {
            return .refused(
                Rules.refuse(
                    .category,
                    "\"\(category.name)\" is over the limit of \(StoreLimits.categoryCountMax) categories",
                    limit: StoreLimits.categoryCountMax
                ))
        }
        counters.revision += 1
        var category = category
        category.revision = counters.revision
        try set(category, at: IndexKeys.category(category.name, app: category.app))
        if old == nil { counters.categories += 1 }
        try noteEdit(of: category.name, app: category.app)
        return .categorySet(category, created: old == nil)
    }

    mutating func removeCategory(
        _ name: String, app: String?, _ condition: Condition
    ) throws(StoreError) -> Outcome {
        guard Category.mayBeStored(name, app: app) else { return .notFound }
        if condition != .none {
            do throws(StoreError) {
                try condition.check(category: try category(name, of: app))
            } catch {
                return try Self.refused(error)
            }
        }
        guard try removeIndex(IndexKeys.category(name, app: app)) else { return .notFound }
        counters.categories = try counters.categories.changed(by: -1, "categories")
        counters.revision += 1
        try noteEdit(of: name, app: app)
        return .deleted
    }

    /// The present revision edited a category: its owners are to be told (``announceCategoryEdit``).
    private mutating func noteEdit(of name: String, app: String?) throws(StoreError) {
        guard counters.notifications > 0 else { return }
        try set(
            CategoryEditEntry(revision: counters.revision),
            at: IndexKeys.categoryEdit(name, app: app))
        hasCategoryEdit = true
    }
}

// Owners with a notification of a category that was edited are told so in their feeds. No index says which those
// are, since that would cost every publish: all notifications are looked at, in bounded steps.

extension ChangeTransaction {
    /// Does one step of the first edit that is not told to all yet. Returns whether there is more to do.
    mutating func announceCategoryEdit(ownerCountMax: Int) throws(StoreError) -> Bool {
        guard let key = try firstCategoryEdit() else { return false }
        guard var edit = try categoryEdit(key),
            let (name, app) = try? Category.nameAndApp(key.span.bytes)
        else {
            // Damaged: nobody knows how far it was. Who shows the category asks for it again.
            try removeIndex(key)
            return true
        }
        let found = try owners(ofCategory: name, app, edit, countMax: ownerCountMax)
        for owner in found.owners {
            counters.revision += 1
            try noteCategoryEdit(name, app: app, of: owner)
        }
        guard let lastID = found.lastID else {
            try removeIndex(key)
            return try firstCategoryEdit() != nil
        }
        edit.lastID = lastID
        try set(edit, at: key)
        return true
    }

    private borrowing func categoryEdit(_ key: [UInt8]) throws(StoreError) -> CategoryEditEntry? {
        do throws(StoreError) {
            return try indexValue(key)
        } catch {
            if case .corrupt = error { return nil }
            throw error
        }
    }

    /// Owners of live notifications after the edit's place that show the category, each once, but for those who
    /// have been told. A category of all apps is not shown by those of an app with its own one of that name. And
    /// the id of the last notification that was looked at; nil at the end.
    private borrowing func owners(
        ofCategory name: String, _ app: String?, _ edit: CategoryEditEntry, countMax: Int
    ) throws(StoreError) -> (owners: [String], lastID: [UInt8]?) {
        let category = Array(name.utf8)
        var owners: [String] = []
        // By their bytes: Swift takes é as one scalar and as two for the same text.
        var seen: Set<[UInt8]> = []
        /// Whether the notifications of an app show it.
        var shows: [[UInt8]: Bool] = [:]
        var count = 0
        var lastID: [UInt8] = []
        let isAll = try walk(tables.notifications, after: edit.lastID.span.bytes) {
            (cursor) throws(StoreError) in
            guard count < StoreLimits.categoryEditRecordCountMax, owners.count < countMax else {
                return false
            }
            count += 1
            lastID = cursor.key.array()
            // A damaged record is stepped over; `verify` names it.
            if let (owner, ownApp) = cursor.owner(naming: category.span.bytes, asOf: now) {
                var isShown = app.isSame(as: ownApp)
                if app == nil, let ownApp {
                    if let known = shows[Array(ownApp.utf8)] {
                        isShown = known
                    } else {
                        isShown = try self.category(name, of: ownApp) == nil
                        shows[Array(ownApp.utf8)] = isShown
                    }
                }
                if isShown, seen.insert(Array(owner.utf8)).inserted {
                    let line = try categoryLineRevision(of: name, app: app, owner)
                    if line ?? 0 <= edit.revision { owners.append(owner) }
                }
            }
            return true
        }
        return (owners, isAll ? nil : lastID)
    }
}

extension TableCursor {
    /// The owner and the app of the notification it stands at, where that is live and names the
    /// category.
    fileprivate borrowing func owner(
        naming category: RawSpan, asOf now: Timestamp
    ) -> (owner: String, app: String?)? {
        guard let view = try? RecordView(value), view.expiresAt > now,
            let named = view.field(.category), named.equals(category),
            (try? view.check(id: key)) != nil, let owner = view.field(.owner)
        else { return nil }
        return (owner.text(), view.field(.app)?.text())
    }
}
