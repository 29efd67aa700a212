internal import Bytes
internal import LMDB

// Damaged blobs. Damage is this host's own: the blob keeps its entry, and its state says that none of its
// bytes is sent. Where the bucket has its bytes they are put back. Where its bytes are published again
// they become a new blob, to which the old one gives way: its entry moves to the quarantine, and the parts
// that refer to it are given the new one (`repoint`). Those are changes like any other, and are shipped.

extension ChangeTransaction {
    /// Notes that a blob is damaged here.
    ///
    /// - Returns: false when it has gone, or is known to lack chunks already.
    mutating func noteDamaged(_ blob: BlobReference) throws(StoreError) -> Bool {
        let isLive: Bool
        if let entry = try blobEntry(blob.digest), entry.number == blob.number {
            isLive = true
        } else {
            isLive = try quarantineEntry(blob.number) != nil
        }
        guard isLive, try state(of: blob.number) == nil else { return false }
        try move(blob.number, from: nil, to: BlobStateEntry(damaged: blob, foundAt: now))
        return true
    }

    /// Takes a damaged blob's entry away, since another blob with its bytes takes its place. A hold of the
    /// digest is the other one's from then on.
    mutating func giveWay(_ entry: BlobEntry, _ digest: Digest) throws(StoreError) {
        let blob = entry.reference(digest)
        try removeEntry(of: blob)
        guard entry.referenceCount > 0 else { return try addReleased(blob) }
        try set(QuarantineEntry(blob, referenceCount: entry.referenceCount, foundAt: now))
        quarantine.noteGivenWay()
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
            try addReleased(blob)
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
    /// All blobs that gave way to others and that parts refer to still.
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

extension Snapshot {
    /// A blob that gave way to another, while parts refer to it.
    borrowing func quarantineEntry(_ number: UInt64) throws(StoreError) -> QuarantineEntry? {
        let key = IndexKeys.quarantine(number)
        guard let value = try transaction.view.get(key.span.bytes, in: store.tables.index) else {
            return nil
        }
        return try QuarantineEntry(value, key: key.span.bytes)
    }

    /// Notifications behind an id that refer to one of some blobs.
    ///
    /// - Parameter matchCountMax: at most so many.
    /// - Returns: their ids, and the last id that was looked at; nil: there are no more.
    borrowing func ids(
        after id: [UInt8], referringTo numbers: Set<UInt64>, countMax: Int, matchCountMax: Int = 64
    ) throws(StoreError) -> (ids: [String], last: [UInt8]?) {
        var ids: [String] = []
        var cursor = try transaction.cursor(in: store.tables.notifications)
        // The next key in order: keys have no byte 00.
        var isThere = try id.isEmpty ? cursor.first() : cursor.seek((id + [0]).span.bytes)
        var count = 0
        var last: [UInt8] = []
        while isThere {
            guard count < countMax, ids.count < matchCountMax else { return (ids, last) }
            if (try? Self.refers(RecordView(cursor.value), to: numbers)) == true {
                ids.append(cursor.key.text())
            }
            last = cursor.key.array()
            count += 1
            isThere = try cursor.next()
        }
        return (ids, nil)
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
