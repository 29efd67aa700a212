internal import Bytes
internal import LMDB

// Damaged blobs. The entry of one moves from `blobs` to the quarantine, so that the digest counts as not
// stored. Bytes that are published again become a new blob, and the parts that refer to the old one
// are given that (`repoint`).

extension ChangeTransaction {
    /// Quarantines a blob.
    ///
    /// - Returns: what the quarantine has of it; nil where the blob has gone, or nothing but a hold kept it.
    mutating func quarantine(_ blob: BlobReference) throws(StoreError) -> QuarantineEntry? {
        guard let entry = try blobEntry(blob.digest), entry.number == blob.number else {
            return nil
        }
        if let end = entry.heldUntil { try noteHold(blob.digest, from: end, to: nil) }
        guard entry.referenceCount > 0 else {
            try abandon(blob)
            return nil
        }
        try removeEntry(of: blob)
        let quarantined = QuarantineEntry(
            entry.reference(blob.digest), referenceCount: entry.referenceCount, foundAt: now)
        try set(quarantined)
        return quarantined
    }

    /// What the quarantine has of a blob number; nil when it has nothing.
    borrowing func quarantineEntry(_ number: UInt64) throws(StoreError) -> QuarantineEntry? {
        let key = IndexKeys.quarantine(number)
        guard let value = try transaction.get(key.span.bytes, in: tables.index) else { return nil }
        return try QuarantineEntry(value, key: key.span.bytes)
    }

    /// Counts one reference to a quarantined blob less. The last one moves it to the orphans.
    ///
    /// - Throws: ``StoreError/corrupt(_:)`` when it is not in the quarantine.
    mutating func releaseQuarantined(_ blob: BlobReference) throws(StoreError) {
        guard var entry = try quarantineEntry(blob.number) else {
            throw .corrupt("a notification refers to the missing blob \(blob.digest)")
        }
        counters.bytesReferenced = try counters.bytesReferenced.changed(
            by: -blob.byteCount, "bytes referenced")
        entry.referenceCount -= 1
        if entry.referenceCount > 0 {
            try set(entry)
        } else {
            let key = IndexKeys.quarantine(blob.number)
            try transaction.remove(key.span.bytes, in: tables.index)
            try addOrphan(blob, state: .released)
        }
    }

    /// Gives a notification, expired or not, the blobs that have the same bytes as damaged ones. Nobody
    /// hears of it: its bytes are those that they were.
    ///
    /// - Returns: how many parts have another blob now.
    mutating func repoint(
        _ id: String, from numbers: Set<UInt64>
    ) throws(StoreError) -> Int {
        guard var record = try record(id) else { return 0 }
        var count = 0
        for index in record.parts.indices {
            let old = record.parts[index].blob
            guard numbers.contains(old.number), try quarantineEntry(old.number) != nil,
                try blobEntry(old.digest) != nil
            else { continue }
            record.parts[index].blob = try reference(old.digest, until: record.expiresAt)
            try releaseQuarantined(old)
            count += 1
        }
        guard count > 0 else { return 0 }
        let value = RecordEncoder.bytes(record)
        try transaction.set(id.utf8.span.bytes, to: value.span.bytes, in: tables.notifications)
        return count
    }

    private mutating func set(_ entry: QuarantineEntry) throws(StoreError) {
        let key = IndexKeys.quarantine(entry.blob.number)
        let value = entry.bytes(key: key)
        try transaction.set(key.span.bytes, to: value.span.bytes, in: tables.index)
    }
}

extension Cursor {
    /// All that is quarantined.
    @_lifetime(self: copy self)
    mutating func quarantineEntries() throws(StoreError) -> [QuarantineEntry] {
        var entries: [QuarantineEntry] = []
        var isThere = try seek([IndexKeys.quarantinePrefix].span.bytes)
        while isThere, key.byte(0) == IndexKeys.quarantinePrefix {
            // One that is damaged is stepped over; `verify` names it.
            if let entry = try? QuarantineEntry(value, key: key) { entries.append(entry) }
            isThere = try next()
        }
        return entries
    }
}
