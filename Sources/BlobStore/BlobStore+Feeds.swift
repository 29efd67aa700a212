// Each in a snapshot of its own. For several questions to one state, ask one snapshot.

extension BlobStore {
    /// Changes of an owner's notifications behind `start`; see
    /// ``Snapshot/changes(of:from:limit:byteCountMax:matching:)``.
    ///
    /// - Throws: ``StoreError/resync``, ``StoreError/corrupt(_:)``, ``StoreError/readersFull``.
    public func changes(
        of owner: String, from start: FeedStart, limit: Int = 100,
        matching filter: RecordFilter = RecordFilter()
    ) throws(StoreError) -> FeedPage {
        let owner = Array(owner.utf8)
        return try withSnapshot { (snapshot) throws(StoreError) in
            try snapshot.changes(
                of: owner.span.bytes, from: start, limit: limit, matching: filter)
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

    /// A category of one app, or of all apps; nil when there is none. One lookup.
    public func category(_ name: String, app: String? = nil) throws(StoreError) -> Category? {
        try withSnapshot { (snapshot) throws(StoreError) in
            try snapshot.category(name, app: app)
        }
    }

    /// All categories, by the bytes of their names, then of their apps; at most ``StoreLimits/categoryCountMax``.
    public func categories() throws(StoreError) -> [Category] {
        try withSnapshot { (snapshot) throws(StoreError) in try snapshot.categories() }
    }
}
