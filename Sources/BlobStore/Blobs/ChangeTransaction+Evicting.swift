internal import LMDB

// Blobs whose bytes are in the bucket, and not here. What is said of them belongs to this host: it is not
// shipped.

extension ChangeTransaction {
    /// Notes that a blob's chunks may be missing here. Returns false when it is no live blob any more, or is
    /// damaged.
    mutating func noteEvicted(_ blob: EvictableBlob) throws(StoreError) -> Bool {
        // One that was freed since it was found has no chunk.
        let key = Keys.chunk(blob.number, blob.chunkCount - 1)
        guard try transaction.get(key.bytes, in: tables.chunks) != nil,
            try quarantineEntry(blob.number) == nil
        else { return false }
        guard let old = try state(of: blob.number) else {
            try move(
                blob.number, from: nil, to: BlobStateEntry(inBucket: blob.storedByteCount))
            return true
        }
        return old.state == .inBucket
    }

    /// Forgets that a blob's chunks may be missing, where all are here: an earlier run may have been cut
    /// short while it fetched them.
    mutating func keepEvicted(_ blob: EvictableBlob) throws(StoreError) {
        guard let old = try state(of: blob.number, in: .inBucket),
            old.storedByteCount == UInt64(blob.storedByteCount)
        else { return }
        try move(blob.number, from: old, to: nil)
    }

    /// Removes the chunks of blobs, the first of each first, up to about `countMax`. Returns how many of the
    /// blobs have none left.
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
        try walk(tables.chunks, from: first.bytes) { (cursor) throws(StoreError) in
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
