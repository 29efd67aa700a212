internal import Bytes
internal import Glibc
internal import LMDB
internal import Synchronization

/// What readers of chunks borrow from a snapshot: the transaction, and where to note that a
/// checksum was computed.
struct ChunkReader: ~Escapable {
    private let view: ReadView
    // Unretained: the snapshot behind this view keeps the store alive, and counting references
    // here would cost more than the lookup's own bookkeeping.
    private let store: Unmanaged<StoreCore>
    private let memtable: MemtableView?

    @inline(__always)
    @_lifetime(borrow snapshot)
    init(_ snapshot: borrowing Snapshot) {
        view = snapshot.transaction.view
        store = .passUnretained(snapshot.store)
        memtable = snapshot.memtable
    }

    /// The stored bytes of chunk `index`, in place. One lookup; the checksum is computed when it is first read.
    @inline(__always)
    @_lifetime(copy self)
    func chunk(of blob: BlobReference, at index: Int) throws(StoreError) -> RawSpan {
        if let memtable, let bytes = pending(blob, index, in: memtable) { return bytes }
        let ordinal = blob.number &+ UInt64(truncatingIfNeeded: index)
        if store._withUnsafeGuaranteedRef({ $0.verifiedChunks.contains(ordinal) }) {
            let byteCount = blob.chunkByteCount(at: index)
            return try value(of: blob, at: index, byteCount).extracting(last: byteCount)
        }
        return try firstRead(of: blob, at: index, ordinal: ordinal)
    }

    /// A chunk that is in memory, as it was acknowledged: nothing of it needs to be checked, and nothing is known of
    /// its bytes in `data.mdb`.
    @inline(never)
    @_lifetime(copy self)
    private func pending(
        _ blob: BlobReference, _ index: Int, in memtable: MemtableView
    ) -> RawSpan? {
        let key = Keys.chunk(blob.number, index)
        let table = store._withUnsafeGuaranteedRef { $0.tables.chunks }
        let byteCount = blob.chunkByteCount(at: index)
        guard case .value(let value) = memtable.find(key.bytes, in: table.number),
            value.count >= byteCount
        else { return nil }
        // The snapshot that this reader borrows keeps the memtable.
        return _overrideLifetime(value.bytes.extracting(last: byteCount), copying: self)
    }

    @inline(never)
    @_lifetime(copy self)
    private func firstRead(
        of blob: BlobReference, at index: Int, ordinal: UInt64
    ) throws(StoreError) -> RawSpan {
        let bytes: RawSpan
        do throws(StoreError) {
            guard store._withUnsafeGuaranteedRef({ $0.evictions.admits(blob.number) }) else {
                throw .evicted(blob)
            }
            bytes = try checkedChunk(of: blob, at: index)
        } catch {
            throw failure(error, of: blob)
        }
        let isQuarantined = store._withUnsafeGuaranteedRef { store in
            store.evictions.ifOpen(blob.number) { store.verifiedChunks.insert(ordinal) }
            // Only now: it may have been quarantined since its bytes were looked at.
            guard store.quarantine.contains(blob.number) else { return false }
            store.verifiedChunks.remove(ordinal)
            return true
        }
        guard !isQuarantined else {
            throw store._withUnsafeGuaranteedRef { $0.refusal(ofDamaged: blob) }
        }
        return bytes
    }

    private func failure(_ error: StoreError, of blob: BlobReference) -> StoreError {
        guard case .corrupt = error else { return error }
        return store._withUnsafeGuaranteedRef { store in
            if store.quarantine.contains(blob.number) { return store.refusal(ofDamaged: blob) }
            if (try? isInBucket(blob.number)) == true { return .evicted(blob) }
            store.quarantine.suspect(blob)
            // Who waits for its bytes gets those of the bucket.
            return store.isInBucket(blob) ? .evicted(blob) : error
        }
    }

    /// A chunk whose checksum is computed, whatever was computed before.
    @_lifetime(copy self)
    func checkedChunk(of blob: BlobReference, at index: Int) throws(StoreError) -> RawSpan {
        let byteCount = blob.chunkByteCount(at: index)
        let value = try value(of: blob, at: index, byteCount)
        let bytes = value.extracting(last: byteCount)
        try Chunk.check(value.integer(0), of: blob, at: index, bytes: bytes)
        return bytes
    }

    /// Computes the checksum of a chunk as the disk has it, whatever is in memory.
    func checkOnDisk(
        of blob: BlobReference, at index: Int, _ disk: DiskReader?, in file: MappedFile?
    ) throws(StoreError) {
        let byteCount = blob.chunkByteCount(at: index)
        let value = try value(of: blob, at: index, byteCount)
        guard let disk, let file,
            let offset = value.withUnsafeBytes({ $0.baseAddress.map(file.offset(of:)) })
        else {
            _ = try checkedChunk(of: blob, at: index)
            return
        }
        let isRead: Void?
        do throws(StoreError) {
            isRead = try disk.withBytes(at: offset, count: value.byteCount) {
                (stored) throws(StoreError) in
                let bytes = stored.extracting(last: byteCount)
                try Chunk.check(stored.integer(0), of: blob, at: index, bytes: bytes)
            }
        } catch {
            guard case .io = error else { throw error }
            throw .corrupt("chunk \(index) of \(blob.digest): \(error)")
        }
        if isRead == nil { _ = try checkedChunk(of: blob, at: index) }
    }

    /// Writes the right bytes of a chunk over damaged ones, in the pages that it has: a peer that is still being
    /// sent them gets what the chunk always had. The caller syncs. `stored`: all bytes of the blob.
    func rewrite(
        of blob: BlobReference, at index: Int, from stored: [UInt8], _ descriptor: Int32,
        in file: MappedFile
    ) throws(StoreError) {
        let byteCount = blob.chunkByteCount(at: index)
        let value = try value(of: blob, at: index, byteCount)
        let table = store._withUnsafeGuaranteedRef { $0.tables.chunks }
        guard view.isInOwnPages(value, of: table) else {
            throw .corrupt("the pages of chunk \(index) of \(blob.digest)")
        }
        guard let start = value.withUnsafeBytes({ $0.baseAddress.map(file.offset(of:)) }) else {
            return
        }
        let offset = off_t(start + value.byteCount - byteCount)
        let count = stored[blob.chunkRange(at: index)].withUnsafeBytes {
            pwrite(descriptor, $0.baseAddress, byteCount, offset)
        }
        guard count == byteCount else {
            throw .io(operation: "pwrite \(DataFile.name)", errno: count < 0 ? errno : 0)
        }
    }

    /// Checksum and bytes, and what is between them; `byteCount` bytes and what belongs before
    /// them.
    @inline(__always)
    @_lifetime(copy self)
    private func value(
        of blob: BlobReference, at index: Int, _ byteCount: Int
    ) throws(StoreError) -> RawSpan {
        let key = Keys.chunk(blob.number, index)
        let table = store._withUnsafeGuaranteedRef { $0.tables.chunks }
        guard let value = try view.get(key.bytes, in: table),
            value.byteCount == ChunkLayout.prefixByteCount(before: byteCount) + byteCount
        else { throw missing(blob, index) }
        return value
    }

    @inline(never)
    private func missing(_ blob: BlobReference, _ index: Int) -> StoreError {
        do throws(StoreError) {
            if try isInBucket(blob.number) { return .evicted(blob) }
        } catch { return error }
        return .corrupt("chunk \(index) of \(blob.digest) is missing or has another length")
    }

    private func isInBucket(_ number: UInt64) throws(StoreError) -> Bool {
        let key = Keys.state(number, .inBucket)
        let table = store._withUnsafeGuaranteedRef { $0.tables.orphans }
        guard let value = try view.get(key.span.bytes, in: table) else { return false }
        _ = try BlobStateEntry(value, number: number)
        return true
    }
}

extension StoreCore {
    /// Whether the bytes of a blob that is damaged here can be fetched from the bucket. What is yet to be
    /// shipped is not there.
    func isInBucket(_ blob: BlobReference) -> Bool { blob.isEvictable && isShipped(blob) }

    func isShipped(_ blob: BlobReference) -> Bool {
        replication.isReplicated.load(ordering: .relaxed)
            && blob.number < leases.keepsFrom.load(ordering: .acquiring)
    }

    /// Why nothing of a damaged blob is sent: the bytes are fetched first, where they can be.
    func refusal(ofDamaged blob: BlobReference) -> StoreError {
        isInBucket(blob)
            ? .evicted(blob)
            : .corrupt("\(blob.digest) is quarantined: some of its bytes are damaged")
    }

    func isLost(_ blob: BlobReference) -> Bool {
        quarantine.contains(blob.number) && !isInBucket(blob)
    }
}

/// A value of the table `chunks`: a checksum, then stored bytes, at the place that ``ChunkLayout``
/// says.
enum Chunk {
    /// What is in front of a chunk's bytes: the checksum, and zeros up to where they begin, of which a short one
    /// has none.
    static func prefix(_ key: RawSpan, _ bytes: RawSpan) -> InlineArray<12, UInt32> {
        var prefix = InlineArray<12, UInt32>(repeating: 0)
        prefix[0] = Checksum(key: key, bytes).value.littleEndian
        return prefix
    }

    /// A chunk of a blob as the table has it. `stored`: all of the blob's bytes.
    static func entry(
        of blob: BlobReference, at index: Int, _ stored: [UInt8]
    ) -> (key: ChunkKey, value: [UInt8]) {
        let (key, bytes) = (Keys.chunk(blob.number, index), stored[blob.chunkRange(at: index)])
        let prefix = prefix(key.bytes, bytes.span.bytes)
        let byteCount = ChunkLayout.prefixByteCount(before: bytes.count)
        return (key, prefix.span.bytes.extracting(first: byteCount).array() + bytes)
    }

    /// Whether a value is as long as one of `byteCount` bytes, and has the checksum that it begins with.
    static func isWhole(_ value: RawSpan, key: RawSpan, byteCount: Int) -> Bool {
        value.byteCount == ChunkLayout.prefixByteCount(before: byteCount) + byteCount
            && Checksum(key: key, value.extracting(last: byteCount)).value == value.integer(0)
    }

    static func check(
        _ checksum: UInt32, of blob: BlobReference, at index: Int, bytes: RawSpan
    ) throws(StoreError) {
        let key = Keys.chunk(blob.number, index)
        guard Checksum(key: key.bytes, bytes).value == checksum else {
            throw .corrupt("chunk \(index) of \(blob.digest) failed its checksum")
        }
    }
}

extension WriteTransaction {
    /// Stores one chunk of a blob. `bytes`: of the whole blob, as stored.
    mutating func putChunk(
        of blob: BlobReference, at index: Int, _ bytes: [UInt8], in table: Table
    ) throws(StoreError) {
        let (key, bytes) = (Keys.chunk(blob.number, index), bytes[blob.chunkRange(at: index)])
        let prefix = Chunk.prefix(key.bytes, bytes.span.bytes)
        let byteCount = ChunkLayout.prefixByteCount(before: bytes.count)
        try set(
            key.bytes, to: prefix.span.bytes.extracting(first: byteCount), bytes.span.bytes,
            in: table)
    }
}

extension TableWriter {
    /// Stores one chunk of a blob. `bytes`: of the whole blob, as stored.
    mutating func putChunk(
        of blob: BlobReference, at index: Int, _ bytes: [UInt8], in table: Table
    ) throws(StoreError) {
        let range = blob.chunkRange(at: index)
        try put(Keys.chunk(blob.number, index), bytes[range], in: table)
    }

    mutating func put(
        _ key: ChunkKey, _ bytes: ArraySlice<UInt8>, in table: Table
    ) throws(StoreError) {
        // One that is there is looked at, so that a damaged one is met before it is replaced.
        if ChunkKey.numbers(key.bytes).0 < firstUncommittedBlobNumber {
            _ = try get(key.bytes, in: table)
        }
        let prefix = Chunk.prefix(key.bytes, bytes.span.bytes)
        let byteCount = ChunkLayout.prefixByteCount(before: bytes.count)
        let first = prefix.span.bytes.extracting(first: byteCount)
        set(key.bytes, to: first, bytes, in: table)
    }
}
