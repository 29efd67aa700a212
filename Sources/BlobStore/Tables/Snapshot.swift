internal import LMDB

/// The store as it stood at one moment: one LMDB read transaction, renewed from a pool.
///
/// What it lends is good until it ends, and the compiler holds callers to that. While it is open no
/// space that it can see is used again, so do one bounded thing and leave: never wait for a client
/// inside.
public struct Snapshot: ~Copyable {
    let transaction: ReadTransaction
    // Unretained: the transaction keeps the store, or whoever made this snapshot does. Counting
    // references here would cost more than the lookup's own bookkeeping.
    let unretainedStore: Unmanaged<BlobStore>

    /// The store it is of.
    var store: BlobStore {
        @inline(__always)
        get { unretainedStore.takeUnretainedValue() }
    }

    /// - Parameter isKept: whether the snapshot keeps its store. Where it does not, no reference is
    ///   counted, and the caller keeps the store until the snapshot has ended.
    @inline(__always)
    init(_ store: BlobStore, isKept: Bool) throws(StoreError) {
        do throws(LMDBError) {
            transaction =
                isKept
                ? try store.readers.begin(keeping: store) : try store.readers.beginUnkept()
        } catch {
            throw StoreError(error)
        }
        unretainedStore = .passUnretained(store)
    }

    /// A part of a notification, for reading in place.
    ///
    /// One B-tree lookup; no copy, no allocation. The record's checksum is computed when it is
    /// first read since the store was opened.
    ///
    /// - Parameters:
    ///   - id: the notification's id, as UTF-8.
    ///   - part: the part's name; empty for the one called `payload`.
    ///   - now: what is past its expiry at this time is not found.
    /// - Returns: the part, borrowed from this snapshot; that there is none; or that it has expired
    ///   and is still remembered.
    /// - Throws: ``StoreError/corrupt(_:)`` when the record does not agree with itself.
    @inline(__always)
    @_lifetime(borrow self)
    public borrowing func payload(
        for id: RawSpan, part: RawSpan, asOf now: Timestamp
    ) throws(StoreError) -> PayloadLookup {
        guard let value = try lookup(id) else { return .missing }
        let record = try RecordView(value)
        let isVerified = unretainedStore._withUnsafeGuaranteedRef {
            $0.verifiedRecords.contains(record.revision)
        }
        if !isVerified { try verify(record, id: id) }
        guard record.expiresAt > now else { return .expired(at: record.expiresAt) }
        guard let entry = try record.part(named: part) else { return .missing }
        let payload = Payload(
            ChunkReader(self), blob: try entry.blob(), mediaType: entry.mediaType, record: record)
        // The record's bytes and the reader are both borrowed from this snapshot.
        return unsafe .found(_overrideLifetime(payload, borrowing: self))
    }

    /// The same for names as Swift has them. Its own function, so that the callers it is inlined
    /// into stay small.
    @usableFromInline
    @_lifetime(borrow self)
    borrowing func payload(
        for id: String, part: String, asOf now: Timestamp
    ) throws(StoreError) -> PayloadLookup {
        let id = id.utf8.span
        let part = part.utf8.span
        return try payload(for: id.bytes, part: part.bytes, asOf: now)
    }

    /// Computes a record's checksum, the first time it is read.
    @inline(never)
    private borrowing func verify(_ record: RecordView, id: RawSpan) throws(StoreError) {
        try record.check(id: id)
        store.verifiedRecords.insert(record.revision)
    }

    /// A copy of a notification's record. One B-tree lookup.
    public borrowing func record(
        for id: RawSpan, asOf now: Timestamp
    ) throws(StoreError) -> RecordLookup {
        guard let value = try lookup(id) else { return .missing }
        let view = try RecordView(value)
        try view.check(id: id)
        guard view.expiresAt > now else { return .expired(at: view.expiresAt) }
        return .found(try view.record(id: id.string))
    }

    /// Copies of the records behind `id`, in the order of the ids' bytes; expired ones are left
    /// out. A page has at most ``StoreLimits/pageByteCountMax`` stored bytes of records, and looks
    /// at ``StoreLimits/listEntriesLookedAtMax`` of them at the most. So it may have fewer than
    /// `limit`, or none, and yet not be the last: its `next` tells.
    ///
    /// - Parameters:
    ///   - id: the last id that was seen; empty to begin.
    ///   - limit: how many at the most.
    ///   - byteCountMax: stored bytes of them at the most, if that is less.
    public borrowing func records(
        after id: RawSpan, limit: Int, byteCountMax: Int = StoreLimits.pageByteCountMax,
        asOf now: Timestamp
    ) throws(StoreError) -> RecordPage {
        var page = RecordPage(records: [], next: nil)
        guard id.byteCount <= StoreLimits.idByteCountMax, limit > 0 else { return page }
        var budget = PageBudget(
            countMax: limit, entryCountMax: StoreLimits.listEntriesLookedAtMax,
            byteCountMax: byteCountMax)
        var cursor = try transaction.cursor(in: store.tables.notifications)
        var isThere = id.isEmpty ? try cursor.first() : try cursor.seek(id)
        let isSeen = isThere && cursor.key.isEqual(to: id)
        if isSeen { isThere = try cursor.next() }
        var last = id.string
        while isThere {
            var isFull = budget.isSpent
            if !isFull {
                let byteCount = cursor.value.byteCount
                if let record = try cursor.liveRecord(asOf: now) {
                    isFull = !budget.take(byteCount)
                    if !isFull {
                        last = record.id
                        page.records.append(record)
                    }
                } else {
                    last = cursor.key.string
                }
                budget.read(byteCount)
            }
            if isFull {
                page.next = last
                break
            }
            isThere = try cursor.next()
        }
        return page
    }

    /// The stored bytes of a blob from `offset` to the end of the chunk that it lies in. One B-tree
    /// lookup, no copy; the chunk's checksum is computed when it is first read since the store was
    /// opened.
    ///
    /// - Parameters:
    ///   - blob: found in this snapshot, or leased.
    ///   - offset: where to begin, in stored bytes; less than `storedByteCount`.
    /// - Returns: at least one byte, borrowed from this snapshot.
    /// - Throws: ``StoreError/corrupt(_:)`` when the chunk is not there or its checksum does not
    ///   agree. No byte of it is returned.
    @inline(__always)
    @_lifetime(borrow self)
    public borrowing func storedBytes(
        of blob: BlobReference, from offset: Int
    ) throws(StoreError) -> RawSpan {
        precondition(offset >= 0 && offset < blob.storedByteCount, "offset out of the blob")
        let (index, start) = blob.chunkPlace(of: offset)
        let chunk = try ChunkReader(self).chunk(of: blob, at: index)
        return chunk.extracting(start..<chunk.byteCount)
    }

    /// A promise that the blob's chunks stay where they are after this snapshot has ended. Takes a
    /// lock for some nanoseconds.
    ///
    /// - Parameter blob: found in this snapshot, or already leased.
    public borrowing func lease(_ blob: BlobReference) -> Lease {
        Lease(blob.number, in: store.leases)
    }

    /// The record of `id` in place, or nil. An id that could not have been published is not there.
    @inline(__always)
    @_lifetime(borrow self)
    private borrowing func lookup(_ id: RawSpan) throws(StoreError) -> RawSpan? {
        guard id.byteCount > 0 && id.byteCount <= StoreLimits.idByteCountMax else { return nil }
        let table = unretainedStore._withUnsafeGuaranteedRef { $0.tables.notifications }
        return try transaction.view.get(id, in: table)
    }
}

extension Cursor {
    /// A copy of the record the cursor stands at; nil when it has expired at `now`.
    fileprivate borrowing func liveRecord(asOf now: Timestamp) throws(StoreError) -> Record? {
        guard try RecordView(value).expiresAt > now else { return nil }
        return try record()
    }

    /// A copy of the record the cursor stands at, in the table `notifications`.
    borrowing func record() throws(StoreError) -> Record {
        let view = try RecordView(value)
        let id = key
        try view.check(id: id)
        return try view.record(id: id.string)
    }
}

/// A stretch of all notifications, by the bytes of their ids.
public struct RecordPage: Sendable {
    /// At most as many as were asked for.
    public var records: [Record]
    /// The id behind which to go on; nil when there are no more.
    public var next: String?
}

/// What a lookup of a payload found.
public enum PayloadLookup: ~Escapable {
    /// It is there and good until the snapshot ends.
    case found(Payload)
    /// It was there until this moment, and its space is not yet used again. Nil for a blob whose last
    /// moment is not known.
    case expired(at: Timestamp?)
    /// There is none.
    case missing
}

/// What a lookup of a record found.
public enum RecordLookup: Sendable {
    /// A copy of it.
    case found(Record)
    /// It was there until this moment, and its space is not yet used again.
    case expired(at: Timestamp)
    /// There is none.
    case missing
}
