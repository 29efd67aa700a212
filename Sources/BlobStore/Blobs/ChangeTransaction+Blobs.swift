internal import LMDB

// References to blobs, counted in the transaction that makes and drops them.

extension ChangeTransaction {
    /// Counts one more reference to the blob of `payload`, storing it when it is not there, or not whole. `staged`:
    /// the number its chunks were written under already, if they were.
    mutating func reference(
        _ payload: PreparedPayload, until expiry: Timestamp, staged: UInt64?
    ) throws(StoreError) -> BlobReference {
        counters.bytesReferenced = try counters.bytesReferenced.changed(
            by: payload.byteCount, "bytes referenced")
        // Most blobs are new: its entry is put there, if there is none.
        let number = staged ?? counters.nextBlobNumber
        let reference = BlobReference(payload, number: number)
        let new = BlobEntry(reference, referenceCount: 1, expiryBound: expiry)
        guard try insert(new) else {
            guard var entry = try blobEntry(payload.digest) else {
                throw .corrupt("the blob entry of \(payload.digest) is inconsistent")
            }
            if try hasBytes(of: entry) {
                entry.referenceCount += 1
                entry.expiryBound = max(entry.expiryBound, expiry)
                try write(entry)
                return entry.blob
            }
            var healed = new
            healed.heldUntil = entry.heldUntil
            healed.expiryBound = max(entry.expiryBound, expiry)
            try giveWay(entry)
            try write(healed)
            try enter(payload, reference, staged: staged)
            return reference
        }
        try enter(payload, reference, staged: staged)
        return reference
    }

    /// Counts one more reference to a blob that is stored.
    mutating func reference(
        _ digest: Digest, until expiry: Timestamp
    ) throws(StoreError) -> BlobReference {
        guard var entry = try blobEntry(digest) else {
            throw .corrupt("the blob entry of \(digest) is missing")
        }
        counters.bytesReferenced = try counters.bytesReferenced.changed(
            by: entry.blob.byteCount, "bytes referenced")
        entry.referenceCount += 1
        entry.expiryBound = max(entry.expiryBound, expiry)
        try write(entry)
        return entry.blob
    }

    /// Stores a blob that is not there and that nothing refers to yet. `bound`: of the one that gave way to it.
    mutating func store(
        _ payload: PreparedPayload, heldUntil end: Timestamp, staged: UInt64?,
        bound: Timestamp = Timestamp(milliseconds: 0)
    ) throws(StoreError) -> BlobReference {
        let blob = BlobReference(payload, number: staged ?? counters.nextBlobNumber)
        try write(BlobEntry(blob, referenceCount: 0, expiryBound: bound, heldUntil: end))
        try enter(payload, blob, staged: staged)
        return blob
    }

    private mutating func enter(
        _ payload: PreparedPayload, _ blob: BlobReference, staged: UInt64?
    ) throws(StoreError) {
        if let staged {
            try adopt(staged)
        } else {
            _ = takeBlobNumber(payload)
            try writeChunks(of: payload, number: blob.number)
        }
        if sequence > 0 { storedBlobs.append(blob) }
        try count(blob, 1)
    }

    /// Counts one reference to `blob` less. The last one moves the blob to the orphans, unless it
    /// is held; its chunks stay until nobody can be reading them.
    mutating func release(_ blob: BlobReference) throws(StoreError) {
        guard var entry = try blobEntry(blob.digest), entry.number == blob.number,
            entry.referenceCount > 0
        else { return try releaseQuarantined(blob) }
        counters.bytesReferenced = try counters.bytesReferenced.changed(
            by: -blob.byteCount, "bytes referenced")
        entry.referenceCount -= 1
        if entry.referenceCount > 0 || entry.heldUntil != nil {
            try write(entry)
        } else {
            try abandon(entry)
        }
    }

    /// Moves a blob that nothing keeps any more to the orphans. One that was stored in this very batch goes at
    /// once, unless it is long or yet to be shipped.
    mutating func abandon(_ entry: BlobEntry) throws(StoreError) {
        let blob = entry.blob
        try removeEntry(of: blob)
        try takeBack(blob.digest, until: entry.expiryBound)
        if blob.number >= firstUnseenBlobNumber, sequence == 0,
            Self.isFreedWhole(blob.storedByteCount)
        {
            _ = try removeChunks(of: blob.number, storedByteCount: blob.storedByteCount)
        } else {
            try addReleased(blob)
        }
    }

    /// Removes the entry of a blob that has one.
    mutating func removeEntry(of blob: BlobReference) throws(StoreError) {
        let key = blob.digest.rawWords
        transaction.removeFound(key.span.bytes, in: tables.blobs)
        try count(blob, -1)
    }

    mutating func count(_ blob: BlobReference, _ sign: Int) throws(StoreError) {
        counters.blobs = try counters.blobs.changed(by: sign, "blobs")
        counters.bytes = try counters.bytes.changed(by: sign * blob.byteCount, "bytes")
        counters.bytesStored = try counters.bytesStored.changed(
            by: sign * blob.storedByteCount, "bytes stored")
    }

    /// Makes sure that the blob is found by its digest until `expiry`, which a part that refers to
    /// it now has.
    mutating func extend(_ blob: BlobReference, until expiry: Timestamp) throws(StoreError) {
        guard var entry = try blobEntry(blob.digest), entry.expiryBound < expiry else { return }
        entry.expiryBound = expiry
        try write(entry)
    }

    /// Takes the next number for a blob. A chunk's ordinal is the blob's number plus its index, so
    /// a blob takes as many numbers as it has chunks.
    mutating func takeBlobNumber(_ payload: PreparedPayload) -> UInt64 {
        let number = counters.nextBlobNumber
        counters.nextBlobNumber += UInt64(max(1, payload.chunkCount))
        return number
    }

    mutating func writeChunks(
        of payload: PreparedPayload, number: UInt64, from: Int = 0, count: Int = .max
    ) throws(StoreError) {
        try payload.content.forEachChunk(from: from, count: count) {
            (index, bytes) throws(StoreError) in
            try transaction.put(Keys.chunk(number, index), bytes, in: tables.chunks)
        }
    }

    mutating func addReleased(_ blob: BlobReference) throws(StoreError) {
        let entry = BlobStateEntry(
            digest: blob.digest, transaction: transaction.id,
            storedByteCount: blob.storedByteCount, state: .released)
        try move(blob.number, from: try state(ofLive: blob), to: entry)
        guard sequence > 0, !blob.isShippedWithBatch else { return }
        try setIndex(IndexKeys.retired(sequence, blob.number))
    }

    /// Notes that a blob is being written ahead. One that was before is so still: what an attempt that
    /// failed has left of it is used again.
    mutating func addStaged(_ blob: BlobReference) throws(StoreError) {
        let entry = BlobStateEntry(
            digest: blob.digest, transaction: transaction.id,
            storedByteCount: blob.storedByteCount, state: .staged)
        try move(blob.number, from: try state(of: blob.number), to: entry)
    }

    mutating func adopt(_ number: UInt64) throws(StoreError) {
        guard let entry = try state(of: number, in: .toBeFreed), entry.state == .staged else {
            throw .corrupt("the staged blob \(number) is missing")
        }
        try move(number, from: entry, to: nil)
    }

    /// The entry of a blob that others may be given by its digest: not of a damaged one, whose bytes have to
    /// be published again.
    borrowing func usableEntry(_ digest: Digest) throws(StoreError) -> BlobEntry? {
        guard let entry = try blobEntry(digest) else { return nil }
        if try isEvicted(entry.blob) { return entry }
        return try hasBytes(of: entry) ? entry : nil
    }

    /// Whether bytes that are published again need not be stored again. What was evicted is: nobody knows whether
    /// the bucket has it still, and its bytes are at hand.
    borrowing func hasBytes(of entry: BlobEntry) throws(StoreError) -> Bool {
        // In no commit: from memory.
        guard entry.number < transaction.firstUncommittedBlobNumber else { return true }
        if try isEvicted(entry.blob) { return false }
        return try core.isWhole(entry.blob)
    }

    /// - Returns: false when there is one already.
    private mutating func insert(_ entry: BlobEntry) throws(StoreError) -> Bool {
        let (key, value) = (entry.blob.digest.rawWords, entry.words)
        return try transaction.insert(key.span.bytes, value.span.bytes, in: tables.blobs)
    }

    mutating func write(_ entry: BlobEntry) throws(StoreError) {
        let (key, value) = (entry.blob.digest.rawWords, entry.words)
        try transaction.set(key.span.bytes, to: value.span.bytes, in: tables.blobs)
    }
}

extension BlobReference {
    init(_ payload: PreparedPayload, number: UInt64) {
        self.init(
            digest: payload.digest, number: number, byteCount: payload.byteCount,
            storedByteCount: payload.storedByteCount, coding: payload.coding)
    }
}
