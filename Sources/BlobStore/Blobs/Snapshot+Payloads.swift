internal import LMDB
internal import Synchronization

extension Snapshot {
    /// A part of a notification, for reading in place: one lookup, no copy, no allocation. The record's checksum is
    /// computed when it is first read since the store was opened. `part`: empty for the one called `payload`.
    @inline(__always)
    @_lifetime(borrow self)
    public borrowing func payload(
        for id: RawSpan, part: RawSpan, asOf now: Timestamp
    ) throws(StoreError) -> PayloadLookup {
        try Rules.check(now: now)
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

    /// A payload by names as Swift has them. Its own function, so that the callers it is inlined
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

    @inline(never)
    private borrowing func verify(_ record: RecordView, id: RawSpan) throws(StoreError) {
        // One in memory is as it was acknowledged, and says nothing of the bytes in `data.mdb`.
        if let memtable, case .value = memtable.find(id, in: tables.notifications.number) { return }
        try record.check(id: id)
        store.verifiedRecords.insert(record.revision)
    }

    /// The stored bytes of a blob that was found in this snapshot, or is leased, from `offset` to the end of the
    /// chunk that it lies in: at least one byte. One lookup, no copy. No byte of a chunk is returned whose checksum
    /// does not agree.
    @inline(__always)
    @_lifetime(borrow self)
    public borrowing func storedBytes(
        of blob: BlobReference, from offset: Int
    ) throws(StoreError) -> RawSpan {
        precondition(offset >= 0 && offset < blob.storedByteCount, "offset out of the blob")
        let (index, start) = blob.chunkLocation(of: offset)
        let chunk = try ChunkReader(self).chunk(of: blob, at: index)
        return chunk.extracting(start..<chunk.byteCount)
    }
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

// Which parts refer to a blob is counted, not listed: a million notifications of one picture cost one entry.

extension Snapshot {
    /// A blob by its digest, whatever notifications refer to it. Two lookups while the sweeper keeps up. Otherwise
    /// those that have expired are looked at, up to ``StoreLimits/dueEntryCountMax``, since each may refer to the
    /// blob; with more of them it counts as expired.
    ///
    /// - Returns: its bytes without a media type, and as expiry the latest that a part which refers to it was ever
    ///   given, or the end of its hold.
    @_lifetime(borrow self)
    public borrowing func blob(
        _ digest: Digest, asOf now: Timestamp
    ) throws(StoreError) -> PayloadLookup {
        try Rules.check(now: now)
        guard let entry = try blobEntry(digest), !store.isLost(entry.blob) else {
            return .missing
        }
        var expiresAt = entry.expiryBound
        if let held = entry.heldUntil, held > now {
            expiresAt = max(expiresAt, held)
        } else {
            // The bound is not lowered when the part that had it goes, so it alone does not say
            // that one is left.
            guard expiresAt > now, try hasLiveReference(entry, asOf: now) else {
                return .expired(at: entry.end(before: now))
            }
        }
        return .found(Payload(ChunkReader(self), blob: entry.blob, expiresAt: expiresAt))
    }

    /// Whether a part of a notification that has not expired refers to a blob, or to one that gave way to it.
    private borrowing func hasLiveReference(
        _ entry: BlobEntry, asOf now: Timestamp
    ) throws(StoreError) -> Bool {
        let digest = entry.blob.digest
        if entry.referenceCount > 0,
            try hasLiveReference(digest, among: entry.referenceCount, asOf: now)
        {
            return true
        }
        guard store.quarantine.mayHaveGivenWay.load(ordering: .relaxed) else { return false }
        let others = try quarantineEntries().reduce(0) {
            $1.blob.digest == digest ? $0 + $1.referenceCount : $0
        }
        guard others > 0 else { return false }
        return try hasLiveReference(
            digest, among: entry.referenceCount + others, asOf: now)
    }

    /// Whether not all of the `count` parts that refer to a blob belong to notifications that have expired.
    private borrowing func hasLiveReference(
        _ digest: Digest, among count: UInt64, asOf now: Timestamp
    ) throws(StoreError) -> Bool {
        var expired: UInt64 = 0
        var entryCount = 0
        var isLive = true
        try walk(tables.index) { (cursor) throws(StoreError) in
            guard let entry = try TimeEntry(cursor.key), entry.time <= now else { return false }
            entryCount += 1
            if case .notification(_, let id) = entry {
                expired += try referenceCount(of: id, to: digest)
            }
            isLive = expired < count && entryCount <= StoreLimits.dueEntryCountMax
            return isLive
        }
        return isLive
    }

    /// How many parts of a notification are that blob; 0 when its record cannot be read.
    private borrowing func referenceCount(
        of id: String, to digest: Digest
    ) throws(StoreError) -> UInt64 {
        guard let value = try get(id.utf8.span.bytes, in: tables.notifications) else { return 0 }
        do throws(StoreError) {
            let record = try RecordView(value)
            var count: UInt64 = 0
            for index in 0..<record.partCount
            where try record.part(at: index).blob().digest == digest {
                count += 1
            }
            return count
        } catch {
            return 0
        }
    }
}

extension StoreCore {
    /// Whether a publish of these bytes would not store them: see ``ChangeTransaction/hasBytes(of:)``.
    func contains(_ digest: Digest) throws(StoreError) -> Bool {
        let snapshot = try acknowledged()
        guard let blob = try snapshot.blobEntry(digest)?.blob else { return false }
        if replication.isReplicated.load(ordering: .relaxed), !blob.isShippedWithBatch,
            try snapshot.state(of: blob.number, in: .inBucket) != nil
        {
            return false
        }
        return try isWhole(blob)
    }

    /// Whether all bytes of a blob are here, as they were stored. Checksums are computed as for a
    /// reader: once while the store is open, and not where too many snapshots are open for that.
    func isWhole(_ blob: BlobReference) throws(StoreError) -> Bool {
        guard !quarantine.isDamaged(blob.number) else { return false }
        let unread = (0..<blob.chunkCount).filter {
            !verifiedChunks.contains(blob.number &+ UInt64($0))
        }
        guard !unread.isEmpty else { return true }
        do throws(StoreError) {
            let snapshot = try acknowledged()
            let reader = ChunkReader(snapshot)
            for index in unread { _ = try reader.chunk(of: blob, at: index) }
            return true
        } catch {
            switch error {
            case .corrupt, .evicted: return false
            case .readersFull: return true
            default: throw error
            }
        }
    }
}
