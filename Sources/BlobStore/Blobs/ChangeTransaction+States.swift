internal import Bytes
internal import LMDB
internal import Synchronization

// What this host has of blobs' bytes: one state for each blob, changed by `move` and nowhere else.

extension ChangeTransaction {
    /// What is noted of a blob; nil: it is here and whole, or is not there at all. Up to three lookups.
    borrowing func state(of number: UInt64) throws(StoreError) -> BlobStateEntry? {
        for queue in StateQueue.allCases {
            if let entry = try state(of: number, in: queue) { return entry }
        }
        return nil
    }

    /// Like ``state(of:)``, for a blob that has been stored and not released. Costs a load where nothing is
    /// damaged and the bucket has nothing that is not here.
    borrowing func state(ofLive blob: BlobReference) throws(StoreError) -> BlobStateEntry? {
        if !quarantine.isEmpty, let entry = try state(of: blob.number, in: .damaged) {
            return entry
        }
        return try evicted(blob)
    }

    /// What is noted of a blob whose bytes are in the bucket; nil: they are here.
    private borrowing func evicted(_ blob: BlobReference) throws(StoreError) -> BlobStateEntry? {
        guard isReplicated, !blob.isShippedWithBatch else { return nil }
        return try state(of: blob.number, in: .inBucket)
    }

    borrowing func isEvicted(_ blob: BlobReference) throws(StoreError) -> Bool {
        try evicted(blob) != nil
    }

    /// Changes the state of a blob, and counts it. `old`: what ``state(of:)`` says. `new`: nil: it is here and
    /// whole from now on, or its last chunk is gone.
    mutating func move(
        _ number: UInt64, from old: BlobStateEntry?, to new: BlobStateEntry?
    ) throws(StoreError) {
        guard BlobStateEntry.State.allows(old?.state, new?.state) else {
            throw .corrupt(
                "blob \(number) is \(old?.state as Any), and cannot become \(new?.state as Any)")
        }
        if let old {
            if new?.state.queue != old.state.queue {
                let key = Keys.state(number, old.state.queue)
                try transaction.remove(key.span.bytes, in: tables.orphans)
            }
            try count(old, -1)
        }
        if let new {
            let key = Keys.state(number, new.state.queue)
            let value = new.words(number: number)
            try transaction.set(key.span.bytes, to: value.span.bytes, in: tables.orphans)
            try count(new, 1)
        }
    }

    private mutating func count(_ entry: BlobStateEntry, _ sign: Int) throws(StoreError) {
        let byteCount = sign * Int(entry.storedByteCount)
        switch entry.state.queue {
        case .toBeFreed:
            counters.orphanBlobs = try counters.orphanBlobs.changed(by: sign, "orphans")
            counters.orphanBytes = try counters.orphanBytes.changed(
                by: byteCount, "orphan bytes")
        case .inBucket:
            var count = try evictionCount()
            count.blobs = try count.blobs.changed(by: sign, "evicted blobs")
            count.bytes = try count.bytes.changed(by: byteCount, "evicted bytes")
            try set(count)
        case .damaged: break
        }
    }
}

// Blobs whose bytes are in the bucket, and not here: nothing of this is shipped.

extension ChangeTransaction {
    /// Notes that a blob's chunks may be missing here. Returns false when it is no live blob any more, or is
    /// damaged.
    mutating func noteEvicted(_ blob: EvictableBlob) throws(StoreError) -> Bool {
        try naming(blob.number) { (change) throws(StoreError) in
            // One that was freed since it was found has no chunk.
            let key = Keys.chunk(blob.number, blob.chunkCount - 1)
            guard try change.get(key.bytes, in: change.tables.chunks) != nil,
                try change.quarantineEntry(blob.number) == nil
            else { return false }
            guard let old = try change.state(of: blob.number) else {
                try change.move(
                    blob.number, from: nil, to: BlobStateEntry(inBucket: blob.storedByteCount))
                return true
            }
            return old.state == .inBucket
        }
    }

    /// Forgets that a blob's chunks may be missing, where all are here: an earlier run may have been cut
    /// short while it fetched them.
    mutating func keepEvicted(_ blob: EvictableBlob) throws(StoreError) {
        guard let old = try state(of: blob.number, in: .inBucket),
            old.storedByteCount == UInt64(blob.storedByteCount)
        else { return }
        try move(blob.number, from: old, to: nil)
    }

    /// Removes the chunks of blobs, the first of each first. Returns how many of the blobs have none left.
    mutating func removeChunks(
        of blobs: ArraySlice<EvictableBlob>, countMax: Int
    ) throws(StoreError) -> Int {
        var (done, count) = (0, 0)
        for blob in blobs {
            guard count == 0 || count + blob.chunkCount <= countMax else { break }
            try naming(blob.number) { (change) throws(StoreError) in
                for index in 0..<blob.chunkCount {
                    let key = Keys.chunk(blob.number, index)
                    try change.transaction.remove(key.bytes, in: change.tables.chunks)
                }
            }
            count += blob.chunkCount
            done += 1
        }
        return done
    }
}

extension Snapshot {
    borrowing func evictableBlobs(
        from number: UInt64, byteCountMax: Int, lookingAt countMax: Int
    ) throws(StoreError) -> (blobs: [EvictableBlob], next: UInt64?) {
        var blobs: [EvictableBlob] = []
        var current = EvictableBlob(number: number, chunkCount: 0, storedByteCount: 0)
        var (byteCount, count) = (0, 0)
        func add() {
            guard current.chunkCount > 1 else { return }
            blobs.append(current)
            byteCount += current.storedByteCount
        }
        var next: UInt64?
        let first = Keys.chunk(number, 0)
        try walkReadable(tables.chunks, from: first.bytes) { (cursor) throws(StoreError) in
            guard cursor.key.byteCount == ChunkKey.byteCount else { return false }
            let (number, index) = ChunkKey.numbers(cursor.key)
            if number != current.number {
                add()
                current = EvictableBlob(number: number, chunkCount: 0, storedByteCount: 0)
                guard byteCount < byteCountMax, count < countMax else {
                    next = number
                    return false
                }
            }
            current.chunkCount = index + 1
            current.storedByteCount += ChunkLayout.byteCount(ofValue: cursor.value.byteCount)
            count += 1
            return true
        }
        add()
        return (blobs, next)
    }
}

// Damage is this host's own: the blob keeps its entry, and its state says that none of its bytes is sent. Where
// they are published again they become a new blob, to which the old one gives way: its entry moves to the
// quarantine, and the parts that refer to it are given the new one (`repoint`). Those changes are shipped. So does an
// evicted blob, whose object may be gone: the new one has another.

extension ChangeTransaction {
    /// Notes that a blob is damaged here. Returns false when it has gone, or is evicted.
    mutating func noteDamaged(_ blob: BlobReference) throws(StoreError) -> Bool {
        guard try liveBlob(blob.digest, number: blob.number) != nil else { return false }
        if let old = try state(of: blob.number) { return old.state == .damaged }
        try move(blob.number, from: nil, to: BlobStateEntry(damaged: blob, foundAt: now))
        return true
    }

    /// Takes the entry of a damaged or evicted blob away, since another blob with its bytes takes its place. A hold
    /// of the digest is the other one's from then on.
    mutating func giveWay(_ entry: BlobEntry) throws(StoreError) {
        let blob = entry.blob
        // Damage that nobody has noted before is, as any is; and here already: a base of this moment would call for an
        // object that nobody ever had.
        if try state(of: blob.number) == nil {
            if !quarantine.isDamaged(blob.number) { quarantine.confirm(blob, chunkCount: 1) }
            quarantine.close(
                DamagedBlob(
                    number: blob.number, digest: blob.digest, foundAt: now,
                    transaction: transaction.id))
            try move(blob.number, from: nil, to: BlobStateEntry(damaged: blob, foundAt: now))
        }
        try removeEntry(of: blob)
        guard entry.referenceCount > 0 else { return try addReleased(blob) }
        try set(
            QuarantineEntry(blob, referenceCount: entry.referenceCount, foundAt: now),
            at: IndexKeys.quarantine(blob.number))
        quarantine.noteGivenWay()
    }

    /// Has the blob that gave way to one that is gone found by its digest again, while parts refer to it still.
    mutating func takeBack(_ digest: Digest, until bound: Timestamp) throws(StoreError) {
        guard quarantine.mayHaveGivenWay.load(ordering: .relaxed),
            let old = try quarantineEntries().first(where: { $0.blob.digest == digest })
        else { return }
        try removeIndex(IndexKeys.quarantine(old.blob.number))
        try write(
            BlobEntry(old.blob, referenceCount: old.referenceCount, expiryBound: bound))
        try count(old.blob, 1)
    }

    /// Counts one reference to a quarantined blob less. The last one moves it to the orphans.
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

    /// Gives a notification the blobs that have the same bytes as damaged ones. Nobody hears of it. Returns how
    /// many parts have another blob now.
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
    /// Notifications after an id that refer to one of some blobs, and the last id that was looked at; nil: no
    /// more.
    borrowing func ids(
        after id: [UInt8], referringTo numbers: Set<UInt64>, countMax: Int, matchCountMax: Int = 64
    ) throws(StoreError) -> (ids: [String], last: [UInt8]?) {
        var ids: [String] = []
        var count = 0
        var last: [UInt8] = []
        let isAll = try walk(tables.notifications, after: id.span.bytes) {
            (cursor) throws(StoreError) in
            guard count < countMax, ids.count < matchCountMax else { return false }
            if (try? Self.refers(RecordView(cursor.value), cursor.key, to: numbers)) == true {
                ids.append(cursor.key.text())
            }
            last = cursor.key.array()
            count += 1
            return true
        }
        return (ids, isAll ? nil : last)
    }

    /// Whether a record refers to one of some blobs. One that is damaged does not: nobody can change it.
    private static func refers(
        _ record: RecordView, _ id: RawSpan, to numbers: Set<UInt64>
    ) throws(StoreError) -> Bool {
        for index in 0..<record.partCount
        where numbers.contains(try record.part(at: index).blob().number) {
            try record.check(id: id)
            return true
        }
        return false
    }
}
