internal import Bytes
internal import Hashing
internal import LMDB

/// Takes a backup: one moment of a store, written somewhere, however long that takes.
///
/// A snapshot would keep every page that is replaced meanwhile, and the file would grow. So only the
/// tables without the chunks are read in one snapshot, into a temporary file. Blobs of that moment are
/// kept from being freed until the backup ends, which takes their own space and no more. Their chunks
/// never change, and are read in short snapshots.
struct BackupWriter: ~Copyable {
    private let core: StoreCore
    private var hash = SHA256()
    private var byteCount = 0
    private var writer = BlockWriter()
    private let purpose: BackupPurpose
    /// Blobs whose chunks may be missing here, and are not copied.
    private var evicted: Set<UInt64> = []

    /// A blob of the backup.
    private struct Blob {
        let number: UInt64
        let storedByteCount: Int

        /// Whether it has one chunk: a base has the bytes of such blobs alone.
        var isShort: Bool { storedByteCount <= StoreLimits.chunkByteCountMax }
    }

    init(_ core: StoreCore, for purpose: BackupPurpose = .backup) {
        self.core = core
        self.purpose = purpose
    }

    /// Writes the backup.
    consuming func run(
        asOf now: Timestamp, progress: (_ byteCount: Int, _ total: Int) -> Void,
        noting moment: (BaseMoment) -> Void = { _ in },
        to write: (RawSpan) throws -> Void
    ) throws -> BackupHead {
        var spool = try SpoolFile(directory: core.directory)
        var blobs: [Blob] = []
        var heldBefore: UInt64 = 0
        defer { core.leases.releaseAll(before: heldBefore) }
        let (counters, format) = try core.withSnapshot { (snapshot) throws(StoreError) in
            let counters = try snapshot.counters()
            if case .base = purpose {
                moment(
                    BaseMoment(
                        sequence: try snapshot.lastBatch(),
                        nextBlobNumber: counters.nextBlobNumber))
            }
            // While the snapshot is open: no blob of it is freed in between.
            if purpose.requiresAllPayloads { try Self.requireSound(snapshot) }
            if case .backup = purpose { try Self.requireNoneEvicted(snapshot) }
            heldBefore = counters.nextBlobNumber
            core.leases.takeAll(before: heldBefore)
            try copyTables(of: snapshot, counters, to: &spool, &blobs)
            return (counters, purpose.format(try snapshot.format()))
        }
        if !purpose.requiresAllPayloads { blobs.removeAll { !$0.isShort } }
        let evicted = evicted
        if !evicted.isEmpty { blobs.removeAll { evicted.contains($0.number) } }
        blobs.sort { $0.number < $1.number }
        let chunkCount = blobs.reduce(0) { $0 + ChunkLayout.count(of: $1.storedByteCount) }
        let storedByteCount = blobs.reduce(0) { $0 + $1.storedByteCount }
        let total = spool.byteCount + storedByteCount + chunkCount * Self.bytesBesideChunk
        let head = BackupHead(
            format, takenAt: now, revision: counters.revision, byteCount: UInt64(total))
        try send(head.bytes, to: write)
        var piece: [UInt8] = []
        var offset = 0
        while offset < spool.byteCount {
            let count = min(spool.byteCount - offset, BackupFormat.bodyByteCountMin)
            try spool.read(at: offset, count: count, into: &piece)
            try send(piece, to: write)
            offset += count
            progress(byteCount, total)
        }
        var next = 0
        var index = 0
        while next < blobs.count {
            try core.withSnapshot { (snapshot) throws(StoreError) in
                try gather(blobs, &next, &index, in: snapshot)
            }
            try send(writer.take(), to: write)
            progress(byteCount, total)
        }
        try send(writer.end(hash.digest()), to: write)
        return head
    }

    /// Key, checksum and what else stands beside the bytes of a chunk.
    private static let bytesBesideChunk =
        BackupFormat.entryHeadByteCount + ChunkKey.byteCount + ChunkLayout.alignedPrefixByteCount

    private mutating func send(
        _ bytes: [UInt8], to write: (RawSpan) throws -> Void
    ) throws {
        guard !bytes.isEmpty else { return }
        hash.update(bytes)
        byteCount += bytes.count
        try write(bytes.span.bytes)
    }

    /// Copies all entries but chunks, and notes which blobs there are.
    private mutating func copyTables(
        of snapshot: borrowing Snapshot, _ counters: Counters, to spool: inout SpoolFile,
        _ blobs: inout [Blob]
    ) throws(StoreError) {
        for table in BackupTable.allCases {
            switch table {
            case .meta: try copyMeta(of: snapshot, counters)
            case .chunks: continue
            case .notifications, .blobs, .index:
                let source = table.table(of: core.tables)
                var cursor = try snapshot.transaction.cursor(in: source)
                var isThere = try cursor.first()
                while isThere {
                    if purpose.includes(cursor.key, of: table) {
                        try Self.check(cursor, table, &blobs)
                        if case .index = table, cursor.key.byte(0) == IndexKeys.evictedPrefix,
                            let number = IndexKeys.number(cursor.key)
                        {
                            evicted.insert(number)
                        }
                        writer.append(cursor.key, cursor.value, of: table)
                    }
                    if writer.isFull { try spool.append(writer.take().span.bytes) }
                    isThere = try cursor.next()
                }
            }
            try spool.append(writer.take().span.bytes)
        }
    }

    /// A backup has every byte, or it is none.
    private static func requireSound(_ snapshot: borrowing Snapshot) throws(StoreError) {
        var cursor = try snapshot.transaction.cursor(in: snapshot.store.tables.index)
        let entries = try cursor.quarantineEntries()
        guard let first = entries.first else { return }
        throw .corrupt(
            "\(entries.count) payloads are damaged (\(first.blob.digest)\(entries.count > 1 ? ", …" : "")): publish them again, or delete their notifications"
        )
    }

    /// What is in the bucket alone cannot be copied from here.
    private static func requireNoneEvicted(
        _ snapshot: borrowing Snapshot
    ) throws(StoreError) {
        let count = try snapshot.evictionCount()
        guard count.blobs > 0 else { return }
        throw .hasEvicted(
            blobs: Int(clamping: count.blobs), bytes: Int(clamping: count.bytes))
    }

    /// Checks an entry before it is copied.
    private static func check(
        _ cursor: borrowing Cursor, _ table: BackupTable, _ blobs: inout [Blob]
    ) throws(StoreError) {
        switch table {
        case .notifications: try RecordView(cursor.value).check(id: cursor.key)
        case .blobs:
            guard let digest = Digest(bytes: cursor.key) else {
                throw .corrupt("a key of the blob table")
            }
            let entry = try BlobEntry(cursor.value, digest: digest)
            blobs.append(
                Blob(number: entry.number, storedByteCount: Int(entry.storedByteCount)))
        case .meta, .index, .chunks: break
        }
    }

    /// What is said of the store itself. Its orphans are not copied, and what is true of its files
    /// alone is not either.
    private mutating func copyMeta(
        of snapshot: borrowing Snapshot, _ counters: Counters
    ) throws(StoreError) {
        var counters = counters
        counters.orphanBlobs = 0
        counters.orphanBytes = 0
        let words = counters.words
        writer.append(Counters.name.utf8.span.bytes, words.span.bytes, of: .meta)
        // In the order of their names.
        for name in purpose.metaNames {
            let key = Array(name.utf8)
            let value = try snapshot.transaction.view.get(key.span.bytes, in: core.tables.meta)
            guard let value else { continue }
            if name == FormatRecord.name, let format = FormatRecord(value) {
                writer.append(key.span.bytes, purpose.format(format).bytes.span.bytes, of: .meta)
            } else {
                writer.append(key.span.bytes, value, of: .meta)
            }
        }
    }

    /// Fills a block with chunks.
    ///
    /// - Parameters:
    ///   - next: the blob to go on with.
    ///   - index: its chunk to go on with.
    private mutating func gather(
        _ blobs: [Blob], _ next: inout Int, _ index: inout Int, in snapshot: borrowing Snapshot
    ) throws(StoreError) {
        var cursor = try snapshot.transaction.cursor(in: core.tables.chunks)
        while next < blobs.count, !writer.isFull {
            let blob = blobs[next]
            let key = Keys.chunk(blob.number, index)
            guard index < ChunkLayout.count(of: blob.storedByteCount) else {
                next += 1
                index = 0
                continue
            }
            guard try cursor.seek(key.bytes), cursor.key.equals(key.bytes) else {
                throw .corrupt("chunk \(index) of blob \(blob.number) is missing")
            }
            try Self.check(cursor.value, key, index, of: blob)
            writer.append(key.bytes, cursor.value, of: .chunks)
            index += 1
        }
    }

    private static func check(
        _ value: RawSpan, _ key: ChunkKey, _ index: Int, of blob: Blob
    ) throws(StoreError) {
        let byteCount = ChunkLayout.byteCount(at: index, of: blob.storedByteCount)
        guard value.byteCount == ChunkLayout.prefixByteCount(before: byteCount) + byteCount else {
            throw .corrupt("chunk \(index) of blob \(blob.number) has another length")
        }
        let checksum = Checksum(key: key.bytes, value.extracting(last: byteCount))
        guard checksum.value == value.integer(0, as: UInt32.self) else {
            throw .corrupt("chunk \(index) of blob \(blob.number) failed its checksum")
        }
    }
}
