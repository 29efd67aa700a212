internal import Bytes
internal import LMDB

/// What reads the tables: a ``Snapshot``, or a ``ChangeTransaction``, which also sees its own changes.
protocol TableReader: ~Copyable {
    var tables: Tables { get }

    @_lifetime(borrow self)
    borrowing func get(_ key: RawSpan, in table: Table) throws(StoreError) -> RawSpan?

    @_lifetime(borrow self)
    borrowing func cursor(in table: Table) throws(StoreError) -> TableCursor
}

// One lookup each. What is not there is nil; what is damaged is thrown.

extension TableReader where Self: ~Copyable {
    borrowing func meta<Value: MetaValue>(_: Value.Type = Value.self) throws(StoreError) -> Value? {
        guard let value = try get(Value.name.utf8.span.bytes, in: tables.meta) else { return nil }
        return try Value(value)
    }

    borrowing func counters() throws(StoreError) -> Counters {
        guard let counters = try meta(Counters.self) else {
            throw .corrupt("the counters are missing")
        }
        return counters
    }

    borrowing func format() throws(StoreError) -> FormatRecord {
        guard let format = try meta(FormatRecord.self) else { throw .corrupt("the format record") }
        return format
    }

    /// How many blobs may have chunks missing here.
    borrowing func evictionCount() throws(StoreError) -> EvictionCount {
        try meta() ?? EvictionCount()
    }

    /// A record, expired or not.
    borrowing func record(_ id: String) throws(StoreError) -> Record? {
        let key = id.utf8.span.bytes
        guard let value = try get(key, in: tables.notifications) else { return nil }
        let view = try RecordView(value)
        try view.check(id: key)
        return try view.record(id: id)
    }

    @inline(__always)
    borrowing func blobEntry(_ digest: Digest) throws(StoreError) -> BlobEntry? {
        let key = digest.rawWords
        guard let value = try get(key.span.bytes, in: tables.blobs) else { return nil }
        return try BlobEntry(value, digest: digest)
    }

    /// A blob that parts refer to: one that its digest finds, or one that gave way to another.
    borrowing func liveBlob(
        _ digest: Digest, number: UInt64
    ) throws(StoreError) -> (reference: BlobReference, referenceCount: UInt64)? {
        if let entry = try blobEntry(digest), entry.number == number {
            return (entry.blob, entry.referenceCount)
        }
        return try quarantineEntry(number).map { ($0.blob, $0.referenceCount) }
    }

    borrowing func state(
        of number: UInt64, in queue: StateQueue
    ) throws(StoreError) -> BlobStateEntry? {
        let key = Keys.state(number, queue)
        guard let value = try get(key.span.bytes, in: tables.orphans) else { return nil }
        return try BlobStateEntry(value, number: number)
    }

    borrowing func hasIndexEntry(_ key: [UInt8]) throws(StoreError) -> Bool {
        try get(key.span.bytes, in: tables.index) != nil
    }

    borrowing func indexValue<Value: IndexValue>(
        _ key: [UInt8], as: Value.Type = Value.self
    ) throws(StoreError) -> Value? {
        guard let value = try get(key.span.bytes, in: tables.index) else { return nil }
        return try Value(value, key: key.span.bytes)
    }

    borrowing func sequenceEntry(
        _ owner: String, _ revision: UInt64
    ) throws(StoreError) -> SequenceEntry? {
        try indexValue(IndexKeys.sequence(owner, revision))
    }

    borrowing func foundRevision(_ finder: [UInt8]) throws(StoreError) -> UInt64? {
        try indexValue(finder, as: TombstoneIndexEntry.self)?.revision
    }

    borrowing func purgeMarker(_ owner: String) throws(StoreError) -> PurgeMarker? {
        try indexValue(IndexKeys.mark(owner))
    }

    /// A blob that gave way to another, while parts refer to it.
    borrowing func quarantineEntry(_ number: UInt64) throws(StoreError) -> QuarantineEntry? {
        try indexValue(IndexKeys.quarantine(number))
    }

    /// The category of one app, or of all apps where `app` is nil.
    borrowing func category(_ name: String, of app: String?) throws(StoreError) -> Category? {
        guard Category.mayBeStored(name, app: app) else { return nil }
        return try indexValue(IndexKeys.category(name, app: app))
    }

    /// The category that a name means to a notification of `app`: the app's own, or else that of all apps.
    borrowing func category(
        _ name: String, for app: String?
    ) throws(StoreError) -> Category? {
        if let app, let own = try category(name, of: app) { return own }
        return try category(name, of: nil)
    }

    borrowing func outboxBatch(_ sequence: UInt64) throws(StoreError) -> [UInt8]? {
        try get(IndexKeys.outbox(sequence).span.bytes, in: tables.index)?.array()
    }
}

// Walks.

extension TableReader where Self: ~Copyable {
    /// Calls `body` at each entry from a key on as long as it returns true. Returns whether there are no more
    /// entries.
    @discardableResult
    borrowing func walk(
        _ table: Table, from key: RawSpan = RawSpan(),
        _ body: (borrowing TableCursor) throws(StoreError) -> Bool
    ) throws(StoreError) -> Bool {
        var cursor = try cursor(in: table)
        var isThere = try key.isEmpty ? cursor.go(.first) : cursor.seek(key)
        while isThere {
            guard try body(cursor) else { return false }
            isThere = try cursor.go(.next)
        }
        return true
    }

    /// Like ``walk(_:from:_:)``, but an entry that is not within its pages is stepped over: `verify` names it, and
    /// what is done with the others does not wait for it.
    borrowing func walkReadable(
        _ table: Table, from key: RawSpan = RawSpan(),
        _ body: (borrowing TableCursor) throws(StoreError) -> Bool
    ) throws(StoreError) {
        var cursor = try cursor(in: table)
        var isBegun = false
        while true {
            do throws(LMDBError) {
                defer { isBegun = true }
                let isThere =
                    isBegun
                    ? try cursor.move(.next)
                    : try key.isEmpty ? cursor.move(.first) : cursor.move(toKeyAtOrAfter: key)
                guard isThere else { return }
            } catch {
                guard error.isOutOfBounds else {
                    throw StoreError(error, at: cursor.key, in: table.name)
                }
                continue
            }
            guard try body(cursor) else { return }
        }
    }

    /// Like ``walk(_:from:_:)``, without the entry of the key itself.
    @discardableResult
    borrowing func walk(
        _ table: Table, after key: RawSpan,
        _ body: (borrowing TableCursor) throws(StoreError) -> Bool
    ) throws(StoreError) -> Bool {
        try walk(table, from: key) { (cursor) throws(StoreError) in
            if !key.isEmpty, cursor.key.equals(key) { return true }
            return try body(cursor)
        }
    }

    /// Calls `body` at up to `countMax` entries from a key on. Returns the key to continue with; nil: there are no
    /// more entries, or `body` returned false.
    borrowing func walk(
        _ table: Table, from key: [UInt8], countMax: Int,
        _ body: (borrowing TableCursor) throws(StoreError) -> Bool
    ) throws(StoreError) -> [UInt8]? {
        var next: [UInt8]?
        var count = 0
        try walk(table, from: key.span.bytes) { (cursor) throws(StoreError) in
            if count == countMax { next = cursor.key.array() }
            count += 1
            guard count <= countMax else { return false }
            return try body(cursor)
        }
        return next
    }

    /// Calls `body` at the entries of the index whose keys begin with one byte, as long as it returns true.
    borrowing func walkIndex(
        _ prefix: UInt8, _ body: (borrowing TableCursor) throws(StoreError) -> Bool
    ) throws(StoreError) {
        try walk(tables.index, from: [prefix].span.bytes) { (cursor) throws(StoreError) in
            guard cursor.key.byte(0) == prefix else { return false }
            return try body(cursor)
        }
    }

    /// All states of a queue, in the order of the numbers. An entry that is damaged is stepped over; `verify` names
    /// it.
    borrowing func forEachState(
        in queue: StateQueue, _ body: (UInt64, BlobStateEntry) throws(StoreError) -> Void
    ) throws(StoreError) {
        let first = Keys.state(0, queue)
        try walkReadable(tables.orphans, from: first.span.bytes) { (cursor) throws(StoreError) in
            guard let key = Keys.state(cursor.key) else { return true }
            guard key.queue == queue else { return false }
            if let entry = try? BlobStateEntry(cursor.value, number: key.number) {
                try body(key.number, entry)
            }
            return true
        }
    }

    /// All blobs that gave way to others and that parts refer to still. One that is damaged is stepped over;
    /// `verify` names it.
    borrowing func quarantineEntries() throws(StoreError) -> [QuarantineEntry] {
        var entries: [QuarantineEntry] = []
        try walkIndex(IndexKeys.quarantinePrefix) { (cursor) throws(StoreError) in
            if let entry = try? QuarantineEntry(cursor.value, key: cursor.key) {
                entries.append(entry)
            }
            return true
        }
        return entries
    }

    /// The key of the first edit of a category that is not told to all yet.
    borrowing func firstCategoryEdit() throws(StoreError) -> [UInt8]? {
        var found: [UInt8]?
        try walkIndex(IndexKeys.categoryEditsPrefix) { (cursor) throws(StoreError) in
            if cursor.key.byteCount > 1 { found = cursor.key.array() }
            return false
        }
        return found
    }

    /// What is due at `now`, from the start of the index on, at most `limit` entries. A key that is damaged is stepped
    /// over; `verify` names it.
    borrowing func dueEntries(asOf now: Timestamp, limit: Int) throws(StoreError) -> [TimeEntry] {
        var entries: [TimeEntry] = []
        try walkReadable(tables.index) { (cursor) throws(StoreError) in
            guard entries.count < limit else { return false }
            let entry: TimeEntry?
            do throws(StoreError) {
                entry = try TimeEntry(cursor.key)
            } catch {
                return true
            }
            // Owners' keys stand after all times.
            guard let entry, entry.time <= now else { return false }
            entries.append(entry)
            return true
        }
        return entries
    }

    /// The numbers that keys of the index from `first` to `last` end with; the two differ in nothing else. At most
    /// `countMax`.
    borrowing func places(
        from first: [UInt8], upTo last: [UInt8], countMax: Int
    ) throws(StoreError) -> [UInt64] {
        var places: [UInt64] = []
        let prefixByteCount = first.count - 8
        let lastPlace = UInt64(bigEndian: last.span.bytes.word(prefixByteCount))
        try walk(tables.index, from: first.span.bytes) { (cursor) throws(StoreError) in
            let key = cursor.key
            guard places.count < countMax, key.byteCount == first.count,
                key.extracting(first: prefixByteCount)
                    .equals(first.span.bytes.extracting(first: prefixByteCount))
            else { return false }
            let place = UInt64(bigEndian: key.word(prefixByteCount))
            guard place <= lastPlace else { return false }
            places.append(place)
            return true
        }
        return places
    }

    /// Keys of batches that wait to be shipped, up to a number, in order.
    borrowing func outboxKeys(
        upTo sequence: UInt64, countMax: Int
    ) throws(StoreError) -> [[UInt8]] {
        var keys: [[UInt8]] = []
        try walkIndex(IndexKeys.outboxPrefix) { (cursor) throws(StoreError) in
            guard let number = IndexKeys.number(cursor.key) else {
                throw .corrupt("a key of the outbox")
            }
            guard keys.count < countMax, number <= sequence else { return false }
            keys.append(cursor.key.array())
            return true
        }
        return keys
    }
}
