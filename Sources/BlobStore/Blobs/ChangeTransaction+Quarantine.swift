internal import Bytes
internal import LMDB

// Damaged blobs. Damage is this host's own: the blob keeps its entry, and its state says that none of its
// bytes is sent. Where the bucket has its bytes they are put back. Where its bytes are published again
// they become a new blob, to which the old one gives way: its entry moves to the quarantine, and the parts
// that refer to it are given the new one (`repoint`). Those are changes like any other, and are shipped.

extension ChangeTransaction {
    /// Notes that a blob is damaged here. Returns false when it has gone, or is known to lack chunks already.
    mutating func noteDamaged(_ blob: BlobReference) throws(StoreError) -> Bool {
        guard try liveBlob(blob.digest, number: blob.number) != nil,
            try state(of: blob.number) == nil
        else { return false }
        try move(blob.number, from: nil, to: BlobStateEntry(damaged: blob, foundAt: now))
        return true
    }

    /// Takes a damaged blob's entry away, since another blob with its bytes takes its place. A hold of the
    /// digest is the other one's from then on.
    mutating func giveWay(_ entry: BlobEntry, _ digest: Digest) throws(StoreError) {
        let blob = entry.reference(digest)
        try removeEntry(of: blob)
        guard entry.referenceCount > 0 else { return try addReleased(blob) }
        try set(
            QuarantineEntry(blob, referenceCount: entry.referenceCount, foundAt: now),
            at: IndexKeys.quarantine(blob.number))
        quarantine.noteGivenWay()
    }

    /// Counts one reference to a quarantined blob less. The last one moves it to the orphans. Throws
    /// ``StoreError/corrupt(_:)`` when it is not in the quarantine.
    mutating func releaseQuarantined(_ blob: BlobReference) throws(StoreError) {
        guard var entry = try quarantineEntry(blob.number) else {
            throw .corrupt("a notification refers to the missing blob \(blob.digest)")
        }
        counters.bytesReferenced = try counters.bytesReferenced.changed(
            by: -blob.byteCount, "bytes referenced")
        entry.referenceCount -= 1
        let key = IndexKeys.quarantine(blob.number)
        guard entry.referenceCount == 0 else { return try set(entry, at: key) }
        try removeIndex(key)
        try addReleased(blob)
    }

    /// Gives a notification, expired or not, the blobs that have the same bytes as damaged ones. Nobody hears
    /// of it: its bytes are those that they were. Returns how many parts have another blob now.
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
}

extension Snapshot {
    /// Notifications behind an id that refer to one of some blobs. `matchCountMax`: at most so many. Returns
    /// their ids, and the last id that was looked at; nil: there are no more.
    borrowing func ids(
        after id: [UInt8], referringTo numbers: Set<UInt64>, countMax: Int, matchCountMax: Int = 64
    ) throws(StoreError) -> (ids: [String], last: [UInt8]?) {
        var ids: [String] = []
        var count = 0
        var last: [UInt8] = []
        let isAll = try walk(tables.notifications, after: id.span.bytes) {
            (cursor) throws(StoreError) in
            guard count < countMax, ids.count < matchCountMax else { return false }
            if (try? Self.refers(RecordView(cursor.value), to: numbers)) == true {
                ids.append(cursor.key.text())
            }
            last = cursor.key.array()
            count += 1
            return true
        }
        return (ids, isAll ? nil : last)
    }

    private static func refers(
        _ record: RecordView, to numbers: Set<UInt64>
    ) throws(StoreError) -> Bool {
        for index in 0..<record.partCount
        where numbers.contains(try record.part(at: index).blob().number) {
            return true
        }
        return false
    }
}
