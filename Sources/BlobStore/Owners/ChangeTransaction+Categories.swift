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
                    "\"\(category.name)\" is over the limit of \(StoreLimits.categoryCountMax) categories"
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

    /// The category that a name means to a notification of `app`: the app's own, or else that of
    /// all apps; nil when there is neither. Two lookups at the most.
    borrowing func category(
        _ name: String, for app: String?
    ) throws(StoreError) -> Category? {
        if let app, let own = try category(name, of: app) { return own }
        return try category(name, of: nil)
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
