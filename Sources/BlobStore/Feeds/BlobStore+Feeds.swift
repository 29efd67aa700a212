// Each in a snapshot of its own. Whoever answers several questions from one snapshot asks that.

extension BlobStore {
    /// Changes of an owner's notifications behind `start`; see ``Snapshot/changes(of:from:limit:byteCountMax:)``.
    ///
    /// - Throws: ``StoreError/resync``, ``StoreError/corrupt(_:)``, ``StoreError/readersFull``.
    public func changes(
        of owner: String, from start: FeedStart, limit: Int = 100
    ) throws(StoreError) -> FeedPage {
        let owner = Array(owner.utf8)
        return try withSnapshot { (snapshot) throws(StoreError) in
            try snapshot.changes(of: owner.span.bytes, from: start, limit: limit)
        }
    }

    /// An owner's notifications, newest first; see ``Snapshot/history(of:_:asOf:)``.
    ///
    /// - Throws: ``StoreError/corrupt(_:)``, ``StoreError/readersFull``.
    public func history(
        of owner: String, _ query: HistoryQuery = HistoryQuery(), asOf now: Timestamp
    ) throws(StoreError) -> HistoryPage {
        let owner = Array(owner.utf8)
        return try withSnapshot { (snapshot) throws(StoreError) in
            try snapshot.history(of: owner.span.bytes, query, asOf: now)
        }
    }

    /// A category; nil when there is none of that name. One lookup.
    public func category(_ name: String) throws(StoreError) -> Category? {
        let name = Array(name.utf8)
        return try withSnapshot { (snapshot) throws(StoreError) in
            try snapshot.category(name.span.bytes)
        }
    }

    /// All categories, by the bytes of their names; at most ``StoreLimits/categoryCountMax``.
    public func categories() throws(StoreError) -> [Category] {
        try withSnapshot { (snapshot) throws(StoreError) in try snapshot.categories() }
    }
}
