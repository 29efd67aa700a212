internal import Bytes
internal import LMDB
internal import Synchronization

/// What a step of freeing did.
public struct FreeResult: Sendable, Hashable {
    /// Orphans whose chunks are all gone.
    public var blobs = 0
    /// Stored bytes of the chunks that were removed.
    public var bytes = 0
    /// Whether another step would find something to do.
    public var more = false
}

/// Where changes that free on the side continue to look.
struct FreeingProgress {
    var nextNumber: UInt64 = 0
    /// Where freeing by itself continues; 0 unless there were too many to look at.
    var nextNumberAlone: UInt64 = 0
    /// The transaction in which the walk began at the first orphan, as long as every one that it came by has to
    /// wait; else 0.
    var fruitless: UInt64 = 0
    /// The transaction in which all of them have to wait.
    var waiting: UInt64 = 0
}

struct ReadyOrphans {
    var ready: [(UInt64, BlobStateEntry)] = []
    /// Whether the table was walked to its end.
    var isAll = false
    /// After the last one that was looked at.
    var nextNumber: UInt64 = 0
    var lookedAt = 0
}

extension TableCursor {
    /// The state the cursor stands at, in the table `orphans`, and whose it is.
    borrowing func state() throws(StoreError) -> (UInt64, BlobStateEntry) {
        guard let (_, number) = Keys.state(key) else { throw .corrupt("a key of the orphan table") }
        return (number, try BlobStateEntry(value, number: number))
    }

    fileprivate var isAtOrphan: Bool { Keys.state(key).map { $0.queue == .toBeFreed } ?? true }
}

extension TableReader where Self: ~Copyable {
    borrowing func hasOrphan() throws(StoreError) -> Bool {
        var isThere = false
        try walkReadable(tables.orphans) { (cursor) throws(StoreError) in
            isThere = cursor.isAtOrphan
            return false
        }
        return isThere
    }

    /// Orphans that may be freed, from number `first` on, up to about `byteCountMax` stored bytes.
    borrowing func orphans(
        allowedBy rule: FreeingRule, except quarantine: Quarantine, from first: UInt64 = 0,
        byteCountMax: Int, readyCountMax: Int = StoreLimits.freedTogetherCountMax,
        lookingAt countMax: Int = .max
    ) throws(StoreError) -> ReadyOrphans {
        var result = ReadyOrphans(nextNumber: first)
        var bytes = 0
        let start = Keys.state(first, .toBeFreed)
        result.isAll = true
        try walkReadable(tables.orphans, from: start.span.bytes) { (cursor) throws(StoreError) in
            guard cursor.isAtOrphan else { return false }
            guard bytes <= byteCountMax, result.ready.count < readyCountMax,
                result.lookedAt < countMax
            else {
                result.isAll = false
                return false
            }
            // A damaged one is stepped over, so that the others are freed;
            // `verify` names it.
            if let (number, entry) = try? cursor.state() {
                result.nextNumber = number &+ 1
                if rule.allows(number, entry), !quarantine.isIrremovable(number) {
                    result.ready.append((number, entry))
                    bytes += Int(entry.storedByteCount)
                }
            }
            result.lookedAt += 1
            return true
        }
        return result
    }
}

extension ChangeTransaction {
    /// Frees some of what may be freed, in the transaction of other changes: it costs no sync.
    mutating func freeBeside(
        _ rule: FreeingRule, byteCountMax: Int, _ progress: inout FreeingProgress
    ) throws(StoreError) {
        let enough = max(
            UInt64(StoreLimits.freedWithChangesByteCountMin),
            counters.bytesStored / StoreLimits.freedWithChangesPart)
        guard counters.orphanBytes >= enough, progress.waiting != transaction.id else { return }
        if progress.nextNumber == 0 { progress.fruitless = transaction.id }
        // A view that is opened before the commit can still find what this very transaction, or one that is being
        // committed, made an orphan.
        var rule = rule
        rule.oldestViewed = min(rule.oldestViewed, transaction.lastCommit)
        let found = try orphans(
            allowedBy: rule, except: quarantine, from: progress.nextNumber,
            byteCountMax: byteCountMax, lookingAt: StoreLimits.freedWithChangesCountMax)
        // At the end it begins at the start again, with the next change.
        progress.nextNumber = found.isAll ? 0 : found.nextNumber
        if !found.ready.isEmpty { progress.fruitless = 0 }
        if found.isAll, progress.fruitless == transaction.id { progress.waiting = transaction.id }
        let result = try free(found.ready, byteCountMax: byteCountMax)
        if result.more, let first = found.ready.first { progress.nextNumber = first.0 }
    }

    /// Frees orphans, in their order, as many as fit. Where one is damaged the transaction must not be committed; the
    /// next attempt leaves that one out (``naming(_:_:)``).
    mutating func free(
        _ orphans: [(UInt64, BlobStateEntry)], byteCountMax: Int
    ) throws(StoreError) -> FreeResult {
        var result = FreeResult()
        var puts = 0
        for (number, entry) in orphans {
            result.more = try naming(number) { (transaction) throws(StoreError) in
                try !transaction.free(number, entry, byteCountMax: byteCountMax, &result, &puts)
            }
            if result.more { break }
        }
        return result
    }

    /// Frees one orphan, or the next chunks of a large one. Returns whether all of it is gone.
    private mutating func free(
        _ number: UInt64, _ entry: BlobStateEntry, byteCountMax: Int, _ result: inout FreeResult,
        _ puts: inout Int
    ) throws(StoreError) -> Bool {
        let isShort = Self.isFreedWhole(Int(entry.storedByteCount))
        if isShort {
            guard
                result.blobs == 0 || result.bytes + Int(entry.storedByteCount) <= byteCountMax,
                puts < StoreLimits.transactionPutCountMax
            else { return false }
            puts += try removeChunks(of: number, storedByteCount: Int(entry.storedByteCount))
            result.bytes += Int(entry.storedByteCount)
        }
        while !isShort, let (key, byteCount) = try firstChunk(of: number, entry) {
            guard
                result.bytes == 0 || result.bytes + byteCount <= byteCountMax,
                puts < StoreLimits.transactionPutCountMax
            else { return false }
            try transaction.remove(key.span.bytes, in: tables.chunks)
            result.bytes += byteCount
            puts += 1
        }
        try move(number, from: entry, to: nil)
        result.blobs += 1
        puts += 1
        return true
    }

    /// Calls `body`, which removes chunks of a blob or notes that they may be. Where that meets damage, this blob is
    /// stepped over from then on, so that the others do not wait for it: it is named, and the error is thrown.
    mutating func naming<Result>(
        _ number: UInt64, _ body: (inout ChangeTransaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        do throws(StoreError) {
            return try body(&self)
        } catch {
            if case .corrupt = error { quarantine.noteIrremovable(number, error) }
            throw error
        }
    }

    /// Whether a blob of so many stored bytes is freed as a whole, chunk by chunk without looking
    /// which are there.
    static func isFreedWhole(_ storedByteCount: Int) -> Bool {
        storedByteCount <= 4 * StoreLimits.chunkByteCountMax
    }

    /// Removes all chunks of a blob. Returns how many deletes it took.
    mutating func removeChunks(
        of number: UInt64, storedByteCount: Int
    ) throws(StoreError) -> Int {
        let count = ChunkLayout.count(of: storedByteCount)
        for index in 0..<count {
            let key = Keys.chunk(number, index)
            try transaction.remove(key.bytes, in: tables.chunks)
        }
        return count
    }

    /// The first chunk of an orphan that is still there, and its bytes. A large orphan is freed over several
    /// transactions and found again by what is left.
    private borrowing func firstChunk(
        of number: UInt64, _ entry: BlobStateEntry
    ) throws(StoreError) -> ([UInt8], Int)? {
        var cursor = try cursor(in: tables.chunks)
        let start = Keys.chunk(number, 0)
        func isThere(_ key: RawSpan) -> Bool {
            key.byteCount == ChunkKey.byteCount && UInt64(bigEndian: key.word(0)) == number
        }
        do throws(StoreError) {
            guard try cursor.seek(start.bytes), isThere(cursor.key) else { return nil }
        } catch {
            // Where the cursor has come to a chunk that is damaged, it may be another blob's.
            guard cursor.key.isEmpty || isThere(cursor.key) else { return nil }
            throw error
        }
        return (cursor.key.array(), ChunkLayout.byteCount(ofValue: cursor.value.byteCount))
    }
}
