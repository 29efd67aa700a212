internal import LMDB

// The ways in. Each opens a snapshot of its own and ends it before it returns.

extension BlobStore {
    /// Calls `body` with the store as it is now, with all that was acknowledged. Opening costs about a hundred nanoseconds and no
    /// allocation. Throws what `body` throws; ``StoreError/readersFull``.
    @inlinable
    public func withSnapshot<Result>(
        _ body: (borrowing Snapshot) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        // The snapshot counts no reference to the store: this one holds until it has ended.
        defer { withExtendedLifetime(self) {} }
        return try body(try makeUnkeptSnapshot())
    }

    /// For a `body` that throws errors of its own. Throws those, and ``StoreError/readersFull``.
    @_disfavoredOverload
    @inlinable
    public func withSnapshot<Result>(
        _ body: (borrowing Snapshot) throws -> Result
    ) throws -> Result {
        defer { withExtendedLifetime(self) {} }
        return try body(try makeUnkeptSnapshot())
    }

    /// A snapshot that ends when its last owner does. Prefer `withSnapshot`.
    @available(*, noasync, message: "a snapshot must not be held across a suspension")
    @inline(__always)
    public func makeSnapshot() throws(StoreError) -> Snapshot {
        try core.acknowledged()
    }

    /// A snapshot that counts no reference: the caller keeps this store until it has ended.
    @usableFromInline
    func makeUnkeptSnapshot() throws(StoreError) -> Snapshot {
        try Snapshot(core, isKept: false, isCommitted: false)
    }

    /// Calls `body` with a part of a notification, in place.
    ///
    /// ```swift
    /// let sent = try store.withPayload(for: id, asOf: now) { payload in
    ///     try payload.forEachPiece { try socket.send($0) }
    /// }
    /// ```
    ///
    /// Two B-tree lookups for a payload of one chunk, one more for each further chunk; no copy. Do one bounded
    /// thing in `body`: while it runs, no space that it can see is used again.
    ///
    /// - Returns: nil when there is no such part, or it has expired at `now`.
    /// - Throws: ``StoreError``; what `body` throws.
    @inlinable
    public func withPayload<Result>(
        for id: String, part: String = "payload", asOf now: Timestamp,
        _ body: (Payload) throws -> Result
    ) throws -> Result? {
        // The snapshot counts no reference to the store: this one holds until it has ended.
        defer { withExtendedLifetime(self) {} }
        return try Self.read(try makeUnkeptSnapshot(), id, part, now, body)
    }

    // A function of its own, because a snapshot in a variable of an inlined one is given a box.
    @inlinable
    @inline(__always)
    static func read<Result>(
        _ snapshot: borrowing Snapshot, _ id: String, _ part: String, _ now: Timestamp,
        _ body: (Payload) throws -> Result
    ) throws -> Result? {
        switch try snapshot.payload(for: id, part: part, asOf: now) {
        case .found(let payload): return try body(payload)
        case .expired, .missing: return nil
        }
    }

    /// A copy of a part's bytes as given, or of a range of them, cut to those that are there.
    public func ownedPayload(
        for id: String, part: String = "payload", asOf now: Timestamp, range: Range<Int>? = nil
    ) throws(StoreError) -> [UInt8]? {
        let snapshot = try makeSnapshot()
        switch try snapshot.payload(for: id, part: part, asOf: now) {
        case .found(let payload): return try payload.ownedBytes(in: range)
        case .expired, .missing: return nil
        }
    }

    /// A copy of a blob's bytes as given.
    public func ownedPayload(
        digest: Digest, asOf now: Timestamp, range: Range<Int>? = nil
    ) throws(StoreError) -> [UInt8]? {
        let snapshot = try makeSnapshot()
        switch try snapshot.blob(digest, asOf: now) {
        case .found(let payload): return try payload.ownedBytes(in: range)
        case .expired, .missing: return nil
        }
    }

    /// A copy of a notification's record. One lookup.
    public func record(for id: String, asOf now: Timestamp) throws(StoreError) -> Record? {
        let id = Array(id.utf8)
        let snapshot = try makeSnapshot()
        switch try snapshot.record(for: id.span.bytes, asOf: now) {
        case .found(let record): return record
        case .expired, .missing: return nil
        }
    }

    /// Where borrowed bytes lie in `data.mdb`; nil when that cannot be told, as without `/proc`.
    public func dataPages() -> DataPages? {
        guard let file = core.environment.mappedFile else { return nil }
        return DataPages(file, pageByteCount: core.environment.pageByteCount)
    }
}

extension LeaseQueue {
    /// An empty queue.
    public init(of store: BlobStore) { self.init(in: store.core.leases) }
}

// Each in a snapshot of its own. For several questions to one state, ask one snapshot.

extension BlobStore {
    /// See ``Snapshot/changes(of:from:limit:byteCountMax:matching:)``.
    public func changes(
        of owner: String, from start: FeedStart, limit: Int = 100,
        matching filter: RecordFilter = RecordFilter()
    ) throws(StoreError) -> FeedPage {
        let owner = Array(owner.utf8)
        return try makeSnapshot().changes(
            of: owner.span.bytes, from: start, limit: limit, matching: filter)
    }

    /// See ``Snapshot/history(of:_:asOf:)``.
    public func history(
        of owner: String, _ query: HistoryQuery = HistoryQuery(), asOf now: Timestamp
    ) throws(StoreError) -> HistoryPage {
        let owner = Array(owner.utf8)
        return try makeSnapshot().history(of: owner.span.bytes, query, asOf: now)
    }

    /// A category of one app, or of all apps; nil when there is none. One lookup.
    public func category(_ name: String, app: String? = nil) throws(StoreError) -> Category? {
        try makeSnapshot().category(name, app: app)
    }

    /// All categories, by the bytes of their names, then of their apps; at most ``StoreLimits/categoryCountMax``.
    public func categories() throws(StoreError) -> [Category] {
        try makeSnapshot().categories()
    }
}
