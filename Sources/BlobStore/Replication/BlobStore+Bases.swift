internal import Bytes
internal import Glibc
internal import LMDB

// Bases: where a follower begins, and a restore.

extension BlobStore {
    /// Writes a base: a backup without the bytes of long blobs. `noting`: called with its moment, before the first
    /// bytes.
    package func writeBase(
        asOf now: Timestamp, noting: (BaseMoment) -> Void = { _ in },
        to write: (RawSpan) throws -> Void
    ) throws {
        var writer = try BackupWriter(core, for: .base, asOf: now)
        var isNoted = false
        while let bytes = try writer.nextBytes() {
            if !isNoted { noting(writer.moment) }
            isNoted = true
            try write(bytes.span.bytes)
        }
    }

    /// Calls `body` with long blobs that are found by their digests, up to 1,000 at a time, from short snapshots. One
    /// that has given way to another, or does so meanwhile, may be missed.
    package func forEachLongBlobs(
        _ body: ([BlobReference]) throws -> Void
    ) throws {
        var last: [UInt8]? = [UInt8](repeating: 0, count: Digest.byteCount)
        while let after = last {
            var blobs: [BlobReference] = []
            last = try core.snapshot().walk(core.tables.blobs, from: after, countMax: 1_000) {
                (cursor) throws(StoreError) in
                let blob = try cursor.blobEntry().blob
                if !blob.isShippedWithBatch { blobs.append(blob) }
                return true
            }
            if !blobs.isEmpty { try body(blobs) }
        }
    }

    /// A long blob's bytes as they are stored; nil when it was released, is evicted, or is known to be damaged.
    /// Throws where it turns out to be damaged: try again when that is known.
    package func storedBytes(ofLive blob: BlobReference) throws(StoreError) -> [UInt8]? {
        // Before the look: what is live then is not freed before this returns.
        let lease = lease(blob)
        defer { withExtendedLifetime(lease) {} }
        guard try isStored(blob.digest, number: blob.number) else { return nil }
        do throws(StoreError) {
            return try storedBytes(of: blob)
        } catch {
            switch error {
            case .evicted: return nil
            // The base says so. What is sound is not held up by it.
            case .corrupt where core.quarantine.isNoted(blob.number): return nil
            case .corrupt:
                core.quarantine.suspect(blob)
                throw error
            default: throw error
            }
        }
    }

    package func isStored(_ digest: Digest, number: UInt64) throws(StoreError) -> Bool {
        try storedBlob(digest, number: number) != nil
    }

    /// The blob of a digest, if it has this number; else nil.
    package func storedBlob(
        _ digest: Digest, number: UInt64
    ) throws(StoreError) -> BlobReference? {
        let blob = try core.snapshot().blobEntry(digest)?.blob
        return blob?.number == number ? blob : nil
    }

    /// The stored bytes of a blob of a batch that waits to be shipped; nil: the bucket has them. Where they are
    /// lost, the batch is marked and shipped without them: try again a moment later.
    package func bytesToShip(of blob: BlobReference) throws(StoreError) -> [UInt8]? {
        do throws(StoreError) {
            return try storedBytes(of: blob)
        } catch {
            switch error {
            case .evicted: return nil
            case .corrupt: core.quarantine.noteUnshippable(blob)
            default: break
            }
            throw error
        }
    }

    /// Numbers of long blobs that this store has, is about to have, or retired after a batch, in order. 8 bytes of
    /// memory for each. Read in one snapshot, as the tables of a base are, and for less long: a blob goes back to
    /// where it was when the one is deleted to which it gave way, and two snapshots would miss it in both places.
    package func longBlobNumbers(
        retiredAfter sequence: UInt64
    ) throws(StoreError) -> [UInt64] {
        var numbers = try core.withSnapshot { (snapshot) throws(StoreError) in
            try snapshot.longBlobNumbers(retiredAfter: sequence)
        }
        numbers.sort()
        return numbers
    }

    /// Makes a follower's store of a base. What is in the folder stays until the new one is whole and verified.
    /// Nobody may use it.
    ///
    /// - Parameter state: a follower's, of the moment that the base is of.
    package static func seed(
        _ directory: String, options: Options, as state: ReplicationState, asOf now: Timestamp,
        progress: (_ byteCount: Int, _ total: Int) -> Void = { _, _ in },
        from read: (_ buffer: inout [UInt8], _ byteCountMax: Int) throws -> Void,
        blobs: LongBlobSource
    ) throws {
        try options.check(directory)
        var reader = try BackupReader(from: read)
        try makeDirectory(directory)
        let lock = try DirectoryLock(directory)
        defer { withExtendedLifetime(lock) {} }
        try build(
            &reader, from: read, in: directory, options, asOf: now, .follower(state),
            blobs: blobs, progress: progress)
    }

    /// Replaces the store in a folder by one without contents, which must be rebuilt: its bytes are free then. Nobody may
    /// use it. A crash leaves the one or the other.
    ///
    /// - Parameter epoch: of the store's shard.
    package static func empty(
        _ directory: String, options: Options, epoch: UInt64, asOf now: Timestamp
    ) throws(StoreError) {
        let lock = try DirectoryLock(directory)
        defer { withExtendedLifetime(lock) {} }
        try Creation.createStore(
            in: directory, options: options, asOf: now,
            as: ReplicationState(
                role: .deposed, epoch: epoch, nonce: .random(), position: .start, sequence: 0))
        // Of the store that was there.
        unlink("\(directory)/\(WriteAheadLog.fileName)")
        try Creation.syncDirectory(directory)
    }

    /// Bytes of a store in a folder, on the disk; 0 where there is none.
    package static func allocatedByteCount(of directory: String) -> Int {
        [DataFile.name, WriteAheadLog.fileName].reduce(0) { sum, name in
            var status = stat()
            guard stat("\(directory)/\(name)", &status) == 0 else { return sum }
            return sum + Int(status.st_blocks) * 512
        }
    }

    /// Bytes of the file system of a folder that a process may still use; nil: it does not say.
    package static func availableByteCount(in directory: String) -> Int? {
        var status = statvfs()
        guard statvfs(directory, &status) == 0 else { return nil }
        return Disk(status)?.availableByteCount
    }

    /// About how many bytes a store takes that is made of a base, without its long blobs, and those, and the numbers of the
    /// blobs whose bytes its leader had lost. All of the base is checked.
    package static func seedSize(
        ofBase read: (_ buffer: inout [UInt8], _ byteCountMax: Int) throws -> Void
    ) throws -> (byteCount: Int, longBlobs: [BlobReference], lost: Set<UInt64>) {
        var pages = PageSum()
        var longBlobs: [BlobReference] = []
        var lost: Set<UInt64> = []
        try forEachEntry(of: BackupTable.allCases, inBase: read) { table, key, value in
            pages.add(key.byteCount, value.byteCount)
            let blob = try table.check(key, value)
            if let blob, !blob.isShippedWithBatch { longBlobs.append(blob) }
            if case .states = table, let key = Keys.state(key), key.queue == .damaged {
                lost.insert(key.number)
            }
        }
        return (pages.byteCount, longBlobs, lost)
    }

    /// About how many bytes the chunks of a long blob take.
    package static func seedSize(of blob: BlobReference) -> Int {
        var pages = PageSum()
        for index in 0..<blob.chunkCount {
            pages.add(
                ChunkKey.byteCount, ChunkLayout.checksumByteCount + blob.chunkByteCount(at: index))
        }
        return pages.byteCount
    }

    /// Calls `body` with the long blobs of a base: those that are found by their digests, and those that gave way to
    /// others. All of the base is checked.
    package static func forEachLongBlob(
        ofBase read: (_ buffer: inout [UInt8], _ byteCountMax: Int) throws -> Void,
        _ body: (BlobReference) throws -> Void
    ) throws {
        try forEachEntry(of: [.blobs, .index], inBase: read) { table, key, value in
            let blob = try table.check(key, value)
            if let blob, !blob.isShippedWithBatch { try body(blob) }
        }
    }

    /// Calls `body` with the number of each blob of one chunk whose bytes a base has, and what copies those bytes.
    /// Those that do not match their checksums are left out. All of the base is checked.
    package static func forEachShortBlob(
        from read: (_ buffer: inout [UInt8], _ byteCountMax: Int) throws -> Void,
        body: (_ number: UInt64, _ bytes: () -> [UInt8]) throws -> Void
    ) throws {
        try forEachEntry(of: [.chunks], inBase: read) { _, key, value in
            let byteCount = ChunkLayout.byteCount(ofValue: value.byteCount)
            guard key.byteCount == ChunkKey.byteCount, byteCount > 0 else { return }
            let (number, index) = ChunkKey.numbers(key)
            guard index == 0, Chunk.isWhole(value, key: key, byteCount: byteCount) else { return }
            let copy = value.extracting(last: byteCount).array()
            try body(number) { copy }
        }
    }

    private static func forEachEntry(
        of tables: [BackupTable], inBase read: BackupReader.Source,
        _ body: (BackupTable, _ key: RawSpan, _ value: RawSpan) throws -> Void
    ) throws {
        var reader = try BackupReader(from: read)
        while let block = try reader.nextBlock(from: read) {
            guard tables.contains(block.table) else { continue }
            try block.forEachEntry { try body(block.table, $0, $1) }
        }
    }

    /// Checks that a folder has no store, and makes it if it is not there.
    package static func requireNoStore(in directory: String) throws(StoreError) {
        try makeDirectory(directory)
        for name in [DataFile.name, WriteAheadLog.fileName] {
            guard !DataFile.exists("\(directory)/\(name)") else {
                throw .cannotOpen(
                    path: directory,
                    reason: "it has \(name); restore to a directory without a store")
            }
        }
    }

    /// Makes a store of another one, in a folder that has none, as if of its backup.
    package static func restore(
        _ source: BlobStore, to directory: String, asOf now: Timestamp,
        progress: (_ byteCount: Int, _ total: Int) -> Void
    ) throws {
        var options = source.options
        options.isReplicated = false
        var writer = try BackupWriter(source.core, for: .copy, asOf: now)
        try restore(to: directory, options: options, asOf: now, progress: progress) {
            try writer.read(into: &$0, $1)
        }
    }

    /// Removes a store that was made for a moment, with its folder. What is not a store's stays.
    package static func removeStore(at directory: String) throws(StoreError) {
        guard DataFile.exists(directory) else { return }
        let lock = try DirectoryLock(directory)
        defer { withExtendedLifetime(lock) {} }
        Creation.removeLeftovers(in: directory)
        // Never a log without a store: that is refused.
        for name in [
            WriteAheadLog.fileName, DataFile.name, DataFile.lockName, DataFile.pendingName,
            DirectoryLock.fileName,
        ] { unlink("\(directory)/\(name)") }
        rmdir(directory)
    }
}

extension Snapshot {
    /// All but the last table say in their keys whose entry it is: one that is damaged counts, too.
    fileprivate borrowing func longBlobNumbers(
        retiredAfter sequence: UInt64
    ) throws(StoreError) -> [UInt64] {
        var numbers: [UInt64] = []
        let state = Keys.state(0, .toBeFreed)
        try walk(tables.orphans, from: state.span.bytes) { (cursor) throws(StoreError) in
            guard let key = Keys.state(cursor.key) else { return true }
            guard key.queue == .toBeFreed else { return false }
            let entry = try? BlobStateEntry(cursor.value, number: key.number)
            if entry?.state != .released { numbers.append(key.number) }
            return true
        }
        try walk(tables.blobs) { (cursor) throws(StoreError) in
            let blob = try cursor.blobEntry().blob
            if !blob.isShippedWithBatch { numbers.append(blob.number) }
            return true
        }
        try walkIndex(IndexKeys.quarantinePrefix) { (cursor) throws(StoreError) in
            guard let number = IndexKeys.number(cursor.key) else {
                throw .corrupt("a key of the quarantine")
            }
            numbers.append(number)
            return true
        }
        let retired = IndexKeys.retired(sequence + 1, 0)
        try walk(tables.index, from: retired.span.bytes) { (cursor) throws(StoreError) in
            guard cursor.key.byte(0) == IndexKeys.retiredPrefix else { return false }
            numbers.append(try IndexKeys.retired(cursor.key).number)
            return true
        }
        return numbers
    }

    borrowing func lastBatch() throws(StoreError) -> UInt64 {
        guard let state = try meta(ReplicationState.self) else { return 0 }
        var last = state.sequence
        // What a follower has in its outbox is yet to be removed.
        guard state.role != .follower else { return last }
        try forEachBatch(after: last) { (batch) throws(StoreError) in
            last = batch.sequence
            return true
        }
        return last
    }
}
