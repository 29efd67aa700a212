internal import LMDB

extension ChangeTransaction {
    mutating func setCategory(_ category: Category) throws(StoreError) -> Outcome {
        do throws(StoreError) {
            try category.check()
        } catch {
            return try Self.refused(error)
        }
        let key = IndexKeys.category(category.name, app: category.app)
        let value = CategoryEntry.bytes(category, key: key)
        let isThere = try transaction.get(key.span.bytes, in: tables.index) != nil
        guard isThere || counters.categories < UInt64(StoreLimits.categoryCountMax) else {
            return .refused(
                Rules.refuse(
                    .category,
                    "\"\(category.name)\" would be one more than \(StoreLimits.categoryCountMax), which is the limit"
                ))
        }
        if try !isStored(value, at: key) {
            try transaction.set(key.span.bytes, to: value.span.bytes, in: tables.index)
        }
        if !isThere { counters.categories += 1 }
        return .categorySet(category, created: !isThere)
    }

    mutating func removeCategory(
        _ name: String, app: String?
    ) throws(StoreError) -> Outcome {
        guard Category.mayBeStored(name, app: app) else { return .notFound }
        let key = IndexKeys.category(name, app: app)
        guard try transaction.remove(key.span.bytes, in: tables.index) else { return .notFound }
        counters.categories = try counters.categories.changed(by: -1, "categories")
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

    private borrowing func category(
        _ name: String, of app: String?
    ) throws(StoreError) -> Category? {
        guard Category.mayBeStored(name, app: app) else { return nil }
        let key = IndexKeys.category(name, app: app)
        guard let value = try transaction.get(key.span.bytes, in: tables.index) else {
            return nil
        }
        return try CategoryEntry.category(value, key: key.span.bytes)
    }

    private borrowing func isStored(
        _ value: [UInt8], at key: [UInt8]
    ) throws(StoreError) -> Bool {
        guard let there = try transaction.get(key.span.bytes, in: tables.index) else {
            return false
        }
        return there.isEqual(to: value.span.bytes)
    }
}

extension Category {
    /// Every rule that does not depend on what is stored.
    func check() throws(StoreError) {
        try Rules.check(category: name)
        try Rules.check(app: app)
        try Rules.check(actions)
    }
}
