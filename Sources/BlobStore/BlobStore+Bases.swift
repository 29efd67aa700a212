internal import Bytes
internal import LMDB

// Bases: where a follower begins.

extension BlobStore {
    /// Writes a base: one moment of the store, without the bytes of long blobs. As ``backUp(asOf:progress:to:)``
    /// otherwise.
    ///
    /// - Parameters:
    ///   - now: the present, which the base bears.
    ///   - write: takes the next bytes.
    /// - Returns: the last batch that it has.
    package func writeBase(
        asOf now: Timestamp, to write: (RawSpan) throws -> Void
    ) throws -> UInt64 {
        var sequence: UInt64 = 0
        _ = try BackupWriter(core, for: .base).run(
            asOf: now, progress: { _, _ in }, noting: { sequence = $0 }, to: write)
        return sequence
    }

    /// Calls `body` with each long blob of the store, in the order of their digests, from short snapshots.
    package func forEachLongBlob(
        _ body: (BlobReference) throws -> Void
    ) throws {
        var last: [UInt8]? = [UInt8](repeating: 0, count: Digest.byteCount)
        while let after = last {
            let (blobs, next) = try core.withSnapshot { (snapshot) throws(StoreError) in
                try snapshot.longBlobs(from: after, countMax: 1_000)
            }
            for blob in blobs { try body(blob) }
            last = next
        }
    }

    /// Makes a follower's store of a base. What is in the folder of a store stays until the new one is whole
    /// and verified, and is replaced then.
    ///
    /// - Parameters:
    ///   - directory: is made if it is not there. Nobody may use a store in it.
    ///   - options: how the store is opened to be built.
    ///   - state: a follower's, of the moment that the base is of.
    ///   - now: the present.
    ///   - progress: called with bytes read and bytes in all, about.
    ///   - read: appends up to so many bytes of the base; nothing at its end.
    ///   - blob: the stored bytes of a long blob.
    package static func seed(
        _ directory: String, options: Options, as state: ReplicationState, asOf now: Timestamp,
        progress: (_ byteCount: Int, _ total: Int) -> Void = { _, _ in },
        from read: (_ buffer: inout [UInt8], _ byteCountMax: Int) throws -> Void,
        blob: (BlobReference) throws -> [UInt8]
    ) throws {
        try options.check(directory)
        var reader = try BackupReader(from: read)
        try makeDirectory(directory)
        let lock = try DirectoryLock(directory)
        defer { withExtendedLifetime(lock) {} }
        let isReplacing = DataFile.exists("\(directory)/\(DataFile.name)")
        let staging = try Creation.beginStaging(in: directory, options: options)
        do {
            let total = Int(clamping: reader.head.byteCount)
            try build(
                &reader, from: read, in: staging, options, asOf: now, .follower(state), blob: blob
            ) { progress($0, total) }
            try verifyRestored(staging, options)
        } catch {
            Creation.removeLeftovers(in: directory)
            throw error
        }
        try Creation.finishStaging(in: directory, replacing: isReplacing)
    }
}

extension Snapshot {
    /// The number of the last batch that the tables have.
    borrowing func lastBatch() throws(StoreError) -> UInt64 {
        let name = Array(ReplicationState.name.utf8)
        guard let value = try transaction.view.get(name.span.bytes, in: store.tables.meta) else {
            return 0
        }
        var last = try ReplicationState(value).sequence
        while let batch = try outbox(after: last, upTo: .max, byteCountMax: 1 << 20).last {
            last = batch.sequence
        }
        return last
    }

    /// Long blobs whose digest is at or behind some bytes, and where to go on; nil: there are no more.
    fileprivate borrowing func longBlobs(
        from digest: [UInt8], countMax: Int
    ) throws(StoreError) -> ([BlobReference], next: [UInt8]?) {
        var blobs: [BlobReference] = []
        var cursor = try transaction.cursor(in: store.tables.blobs)
        var isThere = try cursor.seek(digest.span.bytes)
        var count = 0
        while isThere {
            guard count < countMax else { return (blobs, cursor.key.array()) }
            guard let digest = Digest(bytes: cursor.key) else {
                throw .corrupt("a key of the table blobs")
            }
            let blob = try BlobEntry(cursor.value, digest: digest).reference(digest)
            if !blob.isShippedWithBatch { blobs.append(blob) }
            count += 1
            isThere = try cursor.next()
        }
        return (blobs, nil)
    }
}
