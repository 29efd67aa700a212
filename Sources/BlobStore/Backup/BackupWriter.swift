internal import Bytes
internal import Hashing
internal import LMDB
internal import Synchronization

/// Takes a backup: one moment of a store, read piece by piece, however slowly.
///
/// A snapshot would keep every page that is replaced meanwhile. So only the tables without the chunks are read in
/// one, into a temporary file. Blobs of that moment are kept from being freed until this ends; their chunks never
/// change, and are read in short snapshots.
struct BackupWriter: ~Copyable {
    private let core: StoreCore
    private let now: Timestamp
    private let purpose: BackupPurpose
    /// Gives the bytes of blobs that are in the bucket and not here; nil: nobody does.
    private let source: LongBlobSource?

    /// What the backup begins with; nil until its first bytes are asked for.
    private(set) var head: BackupHead?
    /// The moment of a base; known with its head.
    private(set) var moment = BaseMoment(sequence: 0, nextBlobNumber: 0)
    /// Bytes that were given, and in all, about.
    private(set) var progress = (byteCount: 0, total: 0)

    private var hash = SHA256()
    private var writer = BlockWriter()
    /// What was copied of the tables, and how much of that was given.
    private var spool: SpoolFile
    private var spooledByteCount = 0
    private var isEnded = false
    /// Blobs below this number are kept; 0: none.
    private var heldBefore: UInt64 = 0
    /// The blobs whose chunks it has, by their numbers, and the chunk to continue with.
    private var blobs: [Blob] = []
    private var next = 0
    private var index = 0
    /// What is copied of the states of blobs, in the order of its keys.
    private var states: [(number: UInt64, entry: BlobStateEntry)] = []
    /// Numbers of blobs whose chunks are not here, or not as they were stored.
    private var absent: Set<UInt64> = []
    /// Those of them whose bytes are fetched, and the bytes of the one that is being given.
    private var fetched: [UInt64: BlobReference] = [:]
    private var fetchedBytes: [UInt8] = []
    /// Bytes that were given and not read yet, where a reader takes its own pieces.
    private var unread: ArraySlice<UInt8> = []

    private struct Blob {
        let number: UInt64
        let storedByteCount: Int

        /// Whether it has one chunk: a base has the bytes of such blobs alone.
        var isShort: Bool { storedByteCount <= StoreLimits.chunkByteCountMax }
    }

    init(
        _ core: StoreCore, for purpose: BackupPurpose = .backup, missing: LongBlobSource? = nil,
        asOf now: Timestamp
    ) throws(StoreError) {
        self.core = core
        self.purpose = purpose
        self.now = now
        source = missing
        spool = try SpoolFile(directory: core.directory)
    }

    deinit { core.leases.releaseAll(before: heldBefore) }

    /// Hands all of it on.
    consuming func run(
        progress tell: (_ byteCount: Int, _ total: Int) -> Void = { _, _ in },
        to write: (RawSpan) throws -> Void
    ) throws -> BackupHead {
        while let bytes = try nextBytes() {
            try write(bytes.span.bytes)
            tell(progress.byteCount, progress.total)
        }
        guard let head else { preconditionFailure("a backup begins with its head") }
        return head
    }

    /// Appends up to so many bytes; none at the end: a ``BackupReader/Source``.
    mutating func read(into buffer: inout [UInt8], _ byteCountMax: Int) throws {
        if unread.isEmpty { unread = try nextBytes()?[...] ?? [] }
        buffer += unread.prefix(byteCountMax)
        unread = unread.dropFirst(byteCountMax)
    }

    /// The next bytes, at most about 1 MiB; nil at the end. No snapshot is open afterwards.
    mutating func nextBytes() throws -> [UInt8]? {
        guard !isEnded else { return nil }
        var bytes: [UInt8] = []
        if head == nil {
            bytes = try begin().bytes
        } else if spooledByteCount < spool.byteCount {
            let count = min(spool.byteCount - spooledByteCount, BackupFormat.bodyByteCountMin)
            try spool.read(at: spooledByteCount, count: count, into: &bytes)
            spooledByteCount += count
        } else {
            while bytes.isEmpty, next < blobs.count {
                try gatherChunks()
                bytes = writer.take()
            }
            if bytes.isEmpty {
                isEnded = true
                return writer.end(hash.digest())
            }
        }
        hash.update(bytes)
        progress.byteCount += bytes.count
        return bytes
    }

    /// Copies the tables, and has all blobs kept whose chunks come later.
    private mutating func begin() throws(StoreError) -> BackupHead {
        try Rules.check(now: now)
        let (counters, format) = try core.withSnapshot { (snapshot) throws(StoreError) in
            let counters = try snapshot.counters()
            if case .base = purpose {
                moment = BaseMoment(
                    sequence: try snapshot.lastBatch(), nextBlobNumber: counters.nextBlobNumber)
            }
            // While the snapshot is open: no blob of it is freed in between.
            try collectStates(of: snapshot)
            heldBefore = counters.nextBlobNumber
            core.leases.takeAll(before: heldBefore)
            try copyTables(of: snapshot, counters)
            return (counters, purpose.format(try snapshot.format()))
        }
        if !purpose.requiresAllPayloads { blobs.removeAll { !$0.isShort } }
        let left = absent.subtracting(fetched.keys)
        blobs.removeAll { left.contains($0.number) }
        blobs.sort { $0.number < $1.number }
        progress.total = blobs.reduce(spool.byteCount) { total, blob in
            let chunkCount = ChunkLayout.count(of: blob.storedByteCount)
            return total + blob.storedByteCount + chunkCount * Self.bytesBesideChunk
        }
        let begun = BackupHead(
            format, takenAt: now, revision: counters.revision, byteCount: UInt64(progress.total))
        head = begun
        return begun
    }

    /// Key, checksum and whatever else a chunk has besides its bytes.
    private static let bytesBesideChunk =
        BackupFormat.entryHeadByteCount + ChunkKey.byteCount + ChunkLayout.alignedPrefixByteCount

    /// Copies all entries but chunks, and notes which blobs there are.
    private mutating func copyTables(
        of snapshot: borrowing Snapshot, _ counters: Counters
    ) throws(StoreError) {
        for table in BackupTable.allCases {
            switch table {
            case .meta: try copyMeta(of: snapshot, counters)
            case .chunks: continue
            case .states:
                for (number, entry) in states {
                    let key = Keys.state(number, entry.state.queue)
                    let value = entry.words(number: number)
                    writer.append(key.span.bytes, value.span.bytes, of: .states)
                    if writer.isFull { try spool.append(writer.take().span.bytes) }
                }
            case .notifications, .blobs, .index:
                try snapshot.walk(table.table(of: core.tables)) { (cursor) throws(StoreError) in
                    if purpose.includes(cursor.key, of: table) {
                        try check(cursor, table)
                        writer.append(cursor.key, cursor.value, of: table)
                    }
                    if writer.isFull { try spool.append(writer.take().span.bytes) }
                    return true
                }
            }
            try spool.append(writer.take().span.bytes)
        }
    }

    /// Notes which blobs are not whole here, and what is copied of the states.
    private mutating func collectStates(of snapshot: borrowing Snapshot) throws(StoreError) {
        var evicted: [(number: UInt64, entry: BlobStateEntry)] = []
        var damaged: [(number: UInt64, entry: BlobStateEntry)] = []
        var lost: [Digest] = []
        if core.replication.isReplicated.load(ordering: .relaxed) {
            try snapshot.forEachState(in: .inBucket) { (number, entry) throws(StoreError) in
                evicted.append((number, entry))
            }
        }
        try snapshot.forEachState(in: .damaged) { (number, entry) throws(StoreError) in
            // It may have gone.
            guard let blob = try snapshot.liveBlob(entry.digest, number: number)?.reference else {
                return
            }
            if purpose.keepsDamage {
                damaged.append((number, entry))
            } else if core.isInBucket(blob) {
                evicted.append((number, BlobStateEntry(inBucket: blob.storedByteCount)))
            } else {
                lost.append(blob.digest)
            }
        }
        if let first = lost.first {
            throw .corrupt(
                "\(lost.count) payloads are damaged (\(first)\(lost.count > 1 ? ", …" : "")): publish them again, or delete their notifications"
            )
        }
        absent = Set((evicted + damaged).map(\.number))
        switch purpose {
        case .backup:
            // What is only in the bucket cannot be copied from here.
            guard source == nil, !evicted.isEmpty else { break }
            throw .hasEvicted(
                blobs: evicted.count,
                bytes: evicted.reduce(0) { $0 + Int($1.entry.storedByteCount) })
        case .base, .copy: states = damaged
        case .compaction:
            evicted.sort { $0.number < $1.number }
            states = try unshipped(in: snapshot) + evicted
        }
    }

    /// Released blobs that batches name which wait to be shipped: those can be shipped with their bytes alone. In the
    /// order of their numbers.
    private mutating func unshipped(
        in snapshot: borrowing Snapshot
    ) throws(StoreError) -> [(number: UInt64, entry: BlobStateEntry)] {
        guard let state = try snapshot.meta(ReplicationState.self), state.role != .follower
        else { return [] }
        var kept: [(number: UInt64, entry: BlobStateEntry)] = []
        try snapshot.forEachBatch(after: state.sequence) { (batch) throws(StoreError) in
            for blob in batch.blobs {
                // The file may say of what is shipped that it waits; some of that may be freed.
                guard var entry = try snapshot.state(of: blob.number, in: .toBeFreed),
                    try snapshot.hasAllChunks(of: blob)
                else { continue }
                // Transactions of the new file begin at its start, and it has no older view.
                entry.transaction = 0
                kept.append((blob.number, entry))
                blobs.append(Blob(number: blob.number, storedByteCount: blob.storedByteCount))
            }
            return true
        }
        return kept.sorted { $0.number < $1.number }
    }

    private mutating func check(
        _ cursor: borrowing TableCursor, _ table: BackupTable
    ) throws(StoreError) {
        guard let blob = try table.check(cursor.key, cursor.value) else { return }
        blobs.append(Blob(number: blob.number, storedByteCount: blob.storedByteCount))
        if case .backup = purpose, absent.contains(blob.number) { fetched[blob.number] = blob }
    }

    private mutating func copyMeta(
        of snapshot: borrowing Snapshot, _ counters: Counters
    ) throws(StoreError) {
        var counters = counters
        let kept = states.lazy.filter { $0.entry.state == .released }
        counters.orphanBlobs = UInt64(kept.count)
        counters.orphanBytes = kept.reduce(0) { $0 + $1.entry.storedByteCount }
        writer.append(Counters.name.utf8.span.bytes, counters.value.span.bytes, of: .meta)
        // In the order of their names.
        for name in purpose.metaNames {
            let key = Array(name.utf8)
            guard let value = try snapshot.get(key.span.bytes, in: core.tables.meta) else {
                continue
            }
            if name == FormatRecord.name, let format = try? FormatRecord(value) {
                writer.append(key.span.bytes, purpose.format(format).value.span.bytes, of: .meta)
            } else {
                writer.append(key.span.bytes, value, of: .meta)
            }
        }
    }

    /// Adds chunks to the block, until it is full or the blobs are of another kind: stored here, or fetched.
    private mutating func gatherChunks() throws {
        guard let blob = fetched[blobs[next].number] else {
            return try core.withSnapshot { (snapshot) throws(StoreError) in
                try gatherStored(in: snapshot)
            }
        }
        if index == 0 { fetchedBytes = try fetch(blob) }
        while index < blob.chunkCount, !writer.isFull {
            let (key, value) = Chunk.entry(of: blob, at: index, fetchedBytes)
            writer.append(key.bytes, value.span.bytes, of: .chunks)
            index += 1
        }
        if index == blob.chunkCount { (next, index, fetchedBytes) = (next + 1, 0, []) }
    }

    private mutating func gatherStored(in snapshot: borrowing Snapshot) throws(StoreError) {
        var cursor = try snapshot.cursor(in: core.tables.chunks)
        while next < blobs.count, !writer.isFull, fetched[blobs[next].number] == nil {
            let blob = blobs[next]
            let key = Keys.chunk(blob.number, index)
            guard index < ChunkLayout.count(of: blob.storedByteCount) else {
                (next, index) = (next + 1, 0)
                continue
            }
            do throws(StoreError) {
                guard try cursor.find(key.bytes) else {
                    throw .corrupt("chunk \(index) of blob \(blob.number) is missing")
                }
                let byteCount = ChunkLayout.byteCount(at: index, of: blob.storedByteCount)
                guard Chunk.isWhole(cursor.value, key: key.bytes, byteCount: byteCount) else {
                    throw .corrupt("chunk \(index) of blob \(blob.number) failed its checksum")
                }
            } catch {
                // Once that is known the next attempt says so, and has all else.
                if let damaged = try snapshot.blob(numbered: blob.number) {
                    core.quarantine.suspect(damaged)
                }
                throw error
            }
            writer.append(key.bytes, cursor.value, of: .chunks)
            index += 1
        }
    }

    private func fetch(_ blob: BlobReference) throws -> [UInt8] {
        var stored: [UInt8]?
        try source?([blob]) { _, content in
            if case .bytes(let bytes) = content { stored = bytes }
        }
        guard let stored, stored.count == blob.storedByteCount else {
            throw StoreError.evicted(blob)
        }
        return stored
    }
}

extension Snapshot {
    fileprivate borrowing func hasAllChunks(of blob: BlobReference) throws(StoreError) -> Bool {
        for index in 0..<blob.chunkCount {
            let key = Keys.chunk(blob.number, index)
            guard try get(key.bytes, in: tables.chunks) != nil else { return false }
        }
        return true
    }

    /// The blob with a number that some notification has; nil: none does. It reads all entries of blobs.
    fileprivate borrowing func blob(numbered number: UInt64) throws(StoreError) -> BlobReference? {
        var found: BlobReference?
        try walk(tables.blobs) { (cursor) throws(StoreError) in
            if let blob = try? cursor.blobEntry().blob, blob.number == number { found = blob }
            return found == nil
        }
        return found
    }
}
