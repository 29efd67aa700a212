internal import LMDB

/// What a step of freeing did.
public struct FreeResult: Sendable, Hashable {
    /// Orphans whose chunks are all gone.
    public var blobs = 0
    /// Stored bytes of the chunks that were removed.
    public var bytes = 0
    /// Whether another step would find something to do.
    public var more = false
}

extension BlobStore {
    /// The second step of freeing: removes the chunks of blobs that nothing refers to, in one
    /// bounded transaction with one sync.
    ///
    /// An orphan is left alone while a lease is held on it, and while a snapshot of this process is
    /// open that may still find it, since whoever has that snapshot may yet take a lease. Snapshots
    /// of other processes are safe by LMDB's own rule: pages they can see are not used again.
    ///
    /// - Parameter byteCountMax: stored bytes to free at the most, but at least one chunk.
    /// - Returns: what was freed; nothing is written or synced when nothing can be.
    /// - Throws: ``StoreError/corrupt(_:)``, ``StoreError/outcomeUnknown(_:)``.
    public func freeOrphans(byteCountMax: Int) throws(StoreError) -> FreeResult {
        let isThere = try withSnapshot { (snapshot) throws(StoreError) in
            var cursor = try snapshot.transaction.cursor(in: tables.orphans)
            return try cursor.first()
        }
        guard isThere else { return FreeResult() }
        return try whileWriting { () throws(StoreError) in
            // First the views, then the leases: a lease is taken while the view it came from is
            // still open.
            let oldestViewed = environment.readers.oldestViewed
            let (ready, isAll) = try withSnapshot { (snapshot) throws(StoreError) in
                try snapshot.orphans(
                    before: oldestViewed, byteCountMax: byteCountMax, leases: leases)
            }
            guard !ready.isEmpty else { return FreeResult() }
            var result = try inTransaction(
                growth: 0, asOf: Timestamp(milliseconds: 0), isPublishing: false
            ) { (transaction) throws(StoreError) in
                try transaction.free(ready, byteCountMax: byteCountMax)
            }
            if !isAll { result.more = true }
            return result
        }
    }
}

extension Snapshot {
    /// Orphans that nobody can be reading, up to about `byteCountMax` stored bytes, and whether
    /// that is all of them.
    fileprivate borrowing func orphans(
        before oldestViewed: UInt64, byteCountMax: Int, leases: LeaseTable
    ) throws(StoreError) -> (ready: [(UInt64, OrphanEntry)], isAll: Bool) {
        var ready: [(UInt64, OrphanEntry)] = []
        var bytes = 0
        var cursor = try transaction.cursor(in: store.tables.orphans)
        var isThere = try cursor.first()
        while isThere, bytes <= byteCountMax, ready.count < Self.orphanCountMax {
            // A damaged one is stepped over, so that it does not keep the others' space for ever;
            // `verify` names it.
            if let (number, entry) = try? cursor.orphan(), entry.transaction <= oldestViewed,
                !leases.isHeld(number)
            {
                ready.append((number, entry))
                bytes += Int(entry.storedByteCount)
            }
            isThere = try cursor.next()
        }
        return (ready, !isThere)
    }

    /// Orphans freed in one transaction: each takes at least two deletes.
    private static var orphanCountMax: Int { StoreLimits.transactionPutCountMax / 2 }
}

extension Cursor {
    /// The orphan the cursor stands at, in the table `orphans`.
    borrowing func orphan() throws(StoreError) -> (UInt64, OrphanEntry) {
        guard key.byteCount == 8 else { throw .corrupt("a key of the orphan table") }
        let number = UInt64(bigEndian: key.word(at: 0))
        return (number, try OrphanEntry(value, number: number))
    }
}

extension ChangeTransaction {
    fileprivate mutating func free(
        _ orphans: [(UInt64, OrphanEntry)], byteCountMax: Int
    ) throws(StoreError) -> FreeResult {
        var result = FreeResult()
        var puts = 0
        for (number, entry) in orphans {
            while let (key, byteCount) = try firstChunk(of: number, entry) {
                guard
                    result.bytes == 0 || result.bytes + byteCount <= byteCountMax,
                    puts < StoreLimits.transactionPutCountMax
                else {
                    result.more = true
                    return result
                }
                try transaction.remove(key, in: tables.chunks)
                result.bytes += byteCount
                puts += 1
            }
            try removeOrphan(number, entry)
            result.blobs += 1
            puts += 1
        }
        return result
    }

    /// A chunk of an orphan that is still there: the first, and its bytes; nil when all are gone. A
    /// large orphan is freed over several transactions and found again by what is left.
    private borrowing func firstChunk(
        of number: UInt64, _ entry: OrphanEntry
    ) throws(StoreError) -> ([UInt8], Int)? {
        var cursor = try transaction.cursor(in: tables.chunks)
        let start = Keys.chunk(number, 0)
        guard try cursor.seek(start.bytes), cursor.key.byteCount == ChunkKey.byteCount,
            UInt64(bigEndian: cursor.key.word(at: 0)) == number
        else { return nil }
        return (cursor.key.array, max(0, cursor.value.byteCount - Chunk.checksumByteCount))
    }
}
