internal import Bytes
internal import LMDB

extension ChangeTransaction {
    /// Puts `record` in the place of `old`, which has its id, with the next revision, and into its
    /// owner's history and feed.
    mutating func replace(_ old: Record?, by record: inout Record) throws(StoreError) {
        counters.revision += 1
        record.revision = counters.revision
        if record.parts.count > 1 { record.parts = RecordEncoder.sorted(record.parts) }
        record.setCategoryRevision(categoryRevision(of: record))
        try moveInIndex(old, to: &record)
        let oldExpiry = old?.expiresAt
        if oldExpiry != record.expiresAt {
            var key = takeSpareKey()
            if let oldExpiry {
                Keys.expiry(oldExpiry, record.id, into: &key)
                try transaction.remove(key.span.bytes, in: tables.index)
            }
            Keys.expiry(record.expiresAt, record.id, into: &key)
            try transaction.set(key.span.bytes, to: RawSpan(), in: tables.index)
            spareKey = key
        }
        let value = RecordEncoder.bytes(record)
        guard value.count <= StoreLimits.recordByteCountMax else {
            throw Rules.refuse(
                .record,
                "is \(value.count) bytes long; the limit is \(StoreLimits.recordByteCountMax)",
                limit: StoreLimits.recordByteCountMax)
        }
        try transaction.set(
            record.id.utf8.span.bytes, to: value.span.bytes, in: tables.notifications)
        if old == nil { counters.notifications += 1 }
        counters.parts = try counters.parts.changed(
            by: record.parts.count - (old?.parts.count ?? 0), "parts")
        try countUsage(old, record)
    }

    /// Of the category that a record names; 0 where there is none. A lookup or two. One that is damaged keeps no
    /// notification from being changed.
    private borrowing func categoryRevision(of record: Record) -> UInt64 {
        guard let name = record.box?.value.category else { return 0 }
        return (try? category(name, for: record.app))?.revision ?? 0
    }

    /// Removes a notification with everything it refers to. Its owner hears of it. `device`: who removed it.
    mutating func remove(
        _ record: Record, _ kind: SequenceEntry.Kind, device: String?
    ) throws(StoreError) {
        try drop(record)
        if record.owner != nil { try noteDeparture(record, kind, device: device) }
    }

    /// Removes a notification with everything it refers to, and leaves it in the index.
    mutating func drop(_ record: Record) throws(StoreError) {
        for part in record.parts { try release(part.blob) }
        try transaction.remove(record.id.utf8.span.bytes, in: tables.notifications)
        try removeIndex(Keys.expiry(record.expiresAt, record.id))
        counters.revision += 1
        counters.notifications = try counters.notifications.changed(by: -1, "notifications")
        counters.parts = try counters.parts.changed(by: -record.parts.count, "parts")
        try countUsage(record, nil)
    }

    /// Keeps owners' histories and feeds in step with a record that takes the place of another.
    private mutating func moveInIndex(
        _ old: Record?, to record: inout Record
    ) throws(StoreError) {
        guard let owner = record.owner else {
            record.arrival = 0
            if old?.owner != nil, let old { try noteMove(of: old, by: record) }
            return
        }
        let staysWithOwner = old?.owner.map { $0.isSame(as: owner) } ?? false
        let stays = staysWithOwner && old?.app.isSame(as: record.app) ?? false
        if stays, let old, old.expiresAt > now {
            record.arrival = old.sequence
            return try noteChange(old, to: record)
        }
        record.arrival = 0
        if let old, old.owner != nil, !stays {
            try noteMove(of: old, by: record)
            if staysWithOwner {
                // In one owner's feed it left the one app at a revision, and came to the other at
                // the next.
                counters.revision += 1
                record.revision = counters.revision
            }
        }
        try noteArrival(record, after: stays ? old : nil)
    }

    /// An owner has lost a notification to another, or to nobody; or one of its apps has lost it.
    private mutating func noteMove(of old: Record, by record: Record) throws(StoreError) {
        if old.expiresAt > now {
            try noteDeparture(old, .deleted, device: record.box?.value.device)
        } else {
            try noteDeparture(old, .expired, device: nil)
        }
    }

    /// Whether everything that a record refers to is there.
    borrowing func isRemovable(_ record: Record) throws(StoreError) -> Bool {
        for part in record.parts {
            if let blob = try blobEntry(part.digest), blob.number == part.blob.number,
                blob.referenceCount > 0
            {
                continue
            }
            guard try quarantineEntry(part.blob.number) != nil else { return false }
        }
        return true
    }
}
