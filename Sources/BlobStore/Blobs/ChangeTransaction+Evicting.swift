internal import LMDB

// Blobs whose bytes are in the bucket, and not here. What is said of them belongs to this host: it is not
// shipped.

extension ChangeTransaction {
    /// Notes that a blob's chunks may be missing here.
    ///
    /// - Returns: false when it is no live blob any more.
    mutating func noteEvicted(_ blob: EvictableBlob) throws(StoreError) -> Bool {
        // One that was freed since it was found has no chunk.
        let key = Keys.chunk(blob.number, blob.chunkCount - 1)
        guard try transaction.get(key.bytes, in: tables.chunks) != nil,
            try orphanEntry(blob.number) == nil, try quarantineEntry(blob.number) == nil
        else { return false }
        try addEvicted(blob.number, storedByteCount: blob.storedByteCount)
        return true
    }

    /// The same for a blob that is being stored.
    mutating func addEvicted(_ number: UInt64, storedByteCount: Int) throws(StoreError) {
        let key = IndexKeys.evicted(number)
        guard try transaction.get(key.span.bytes, in: tables.index) == nil else { return }
        let entry = EvictionEntry(storedByteCount: UInt64(storedByteCount))
        try transaction.set(
            key.span.bytes, to: entry.bytes(key: key).span.bytes, in: tables.index)
        try countEvicted(1, storedByteCount)
    }

    /// Forgets that a blob's chunks may be missing; nothing where that is not noted.
    mutating func removeEvicted(_ number: UInt64) throws(StoreError) {
        guard let entry = try evictionEntry(number) else { return }
        let key = IndexKeys.evicted(number)
        try transaction.remove(key.span.bytes, in: tables.index)
        try countEvicted(-1, -Int(entry.storedByteCount))
    }

    /// What is noted of a blob; nil: its chunks are here.
    borrowing func evictionEntry(_ number: UInt64) throws(StoreError) -> EvictionEntry? {
        let key = IndexKeys.evicted(number)
        guard let value = try transaction.get(key.span.bytes, in: tables.index) else { return nil }
        return try EvictionEntry(value, key: key.span.bytes)
    }

    private mutating func countEvicted(
        _ blobs: Int, _ byteCount: Int
    ) throws(StoreError) {
        let name = Array(EvictionCount.name.utf8)
        var count = EvictionCount()
        if let value = try transaction.get(name.span.bytes, in: tables.meta) {
            count = try EvictionCount(value)
        }
        count.blobs = try count.blobs.changed(by: blobs, "evicted blobs")
        count.bytes = try count.bytes.changed(by: byteCount, "evicted bytes")
        try setMeta(EvictionCount.name, to: count.value)
    }

    /// Removes the chunks of blobs, the first of each first, up to about `countMax`.
    ///
    /// - Returns: how many of the blobs have none left.
    mutating func removeChunks(
        of blobs: ArraySlice<EvictableBlob>, countMax: Int
    ) throws(StoreError) -> Int {
        var (done, count) = (0, 0)
        for blob in blobs {
            guard count == 0 || count + blob.chunkCount <= countMax else { break }
            for index in 0..<blob.chunkCount {
                let key = Keys.chunk(blob.number, index)
                try transaction.remove(key.bytes, in: tables.chunks)
            }
            count += blob.chunkCount
            done += 1
        }
        return done
    }
}

extension Snapshot {
    /// Blobs of several chunks that have some of them here, in the order of their numbers.
    ///
    /// - Parameters:
    ///   - number: the first number to look at.
    ///   - byteCountMax: of chunks; one blob is given however long it is.
    ///   - countMax: chunks that are looked at.
    /// - Returns: the blobs, and the number to go on with; nil: there are no more.
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
        var cursor = try transaction.cursor(in: store.tables.chunks)
        let first = Keys.chunk(number, 0)
        var isThere = try cursor.seek(first.bytes)
        while isThere, cursor.key.byteCount == ChunkKey.byteCount {
            let (number, index) = ChunkKey.numbers(cursor.key)
            if number != current.number {
                add()
                guard byteCount < byteCountMax, count < countMax else { return (blobs, number) }
                current = EvictableBlob(number: number, chunkCount: 0, storedByteCount: 0)
            }
            current.chunkCount = index + 1
            current.storedByteCount += ChunkLayout.byteCount(ofValue: cursor.value.byteCount)
            count += 1
            isThere = try cursor.next()
        }
        add()
        return (blobs, nil)
    }

    /// How many blobs may have chunks missing here.
    borrowing func evictionCount() throws(StoreError) -> EvictionCount {
        let name = Array(EvictionCount.name.utf8)
        guard let value = try transaction.view.get(name.span.bytes, in: store.tables.meta) else {
            return EvictionCount()
        }
        return try EvictionCount(value)
    }
}
