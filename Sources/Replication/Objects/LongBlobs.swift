package import BlobStore
internal import Bytes
internal import Hashing
internal import Synchronization

package enum LongBlobs {
    /// Splits blobs into those that stay in the bucket until somebody asks for them, and those that are fetched.
    static func split(
        _ blobs: [BlobReference], leavesBlobs: Bool
    ) -> (left: [BlobReference], fetched: [BlobReference]) {
        guard leavesBlobs else { return ([], blobs) }
        return (blobs.filter { $0.isEvictable }, blobs.filter { !$0.isEvictable })
    }

    /// Calls `body` with some blobs after the other, in their order: as many as may be held in memory together.
    package static func inGroups(
        _ blobs: [BlobReference], _ body: ([BlobReference]) throws -> Void
    ) throws {
        var group: [BlobReference] = []
        var byteCount = 0
        for blob in blobs {
            if !group.isEmpty,
                byteCount + blob.storedByteCount > ReplicationLimits.heldBlobByteCount
            {
                try body(group)
                (group, byteCount) = ([], 0)
            }
            group.append(blob)
            byteCount += blob.storedByteCount
        }
        if !group.isEmpty { try body(group) }
    }

    /// - Parameter bytes: a blob's, as stored; nil: it has gone, and is left out. Called by several threads.
    static func put(
        _ blobs: [BlobReference], of storeID: StoreID, on bucket: some Bucket,
        bytes: @Sendable (BlobReference) throws -> [UInt8]?
    ) throws {
        try inGroups(blobs) { group in
            try bucket.forEach(group.count) { index, bucket in
                let blob = group[index]
                guard let stored = try bytes(blob) else { return }
                try bucket.put(ShardNames.blob(blob), BlobObject.bytes(blob, stored, storeID))
            }
        }
    }

    /// Reads blobs' objects, and puts those again that the bucket has lost or damaged, where the store has the bytes.
    ///
    /// - Parameter known: those that were lost the last time: they are looked for once.
    /// - Returns: how many were put, and which are lost: the store has them no more than the bucket, which was asked
    ///   several times.
    static func restore(
        _ blobs: [BlobReference], knownAsLost known: Set<UInt64> = [], of store: BlobStore,
        on bucket: some Bucket
    ) throws -> (count: Int, lost: [BlobReference]) {
        let count = Atomic(0)
        let lost = Mutex<[BlobReference]>([])
        try inGroups(blobs) { group in
            try bucket.forEach(group.count) { index, bucket in
                let blob = group[index]
                var look = try restore(blob, of: store, on: bucket)
                var lookCount = 1
                // It may have been the answer that was wrong, or a server that is behind others.
                while look == .lost, !known.contains(blob.number),
                    lookCount < ReplicationLimits.lostPayloadLookCount
                {
                    try bucket.pause(beforeRetrying: ReplicationLimits.lostPayloadPause + lookCount)
                    look = try restore(blob, of: store, on: bucket)
                    lookCount += 1
                }
                switch look {
                case .isKept: break
                case .wasPut: count.add(1, ordering: .relaxed)
                case .lost: lost.withLock { $0.append(blob) }
                }
            }
        }
        return (
            count.load(ordering: .relaxed), lost.withLock { $0.sorted { $0.number < $1.number } }
        )
    }

    private enum Look { case isKept, wasPut, lost }

    private static func restore(
        _ blob: BlobReference, of store: BlobStore, on bucket: any Bucket
    ) throws -> Look {
        var failure: ReplicationError?
        do throws(ReplicationError) {
            _ = try bytes(of: blob, in: store.id, on: bucket)
            return .isKept
        } catch {
            // Missing, too long, or something else. What may not be read, say, is no loss; what the server does not
            // give is put again.
            switch error {
            case .damaged: break
            case .bucket(_, isLasting: false): failure = error
            default: throw error
            }
        }
        guard let stored = try store.storedBytes(ofLive: blob) else {
            if let failure { throw failure }
            // What nothing refers to any more is no loss.
            return try store.isStored(blob.digest, number: blob.number) ? .lost : .isKept
        }
        try bucket.put(ShardNames.blob(blob), BlobObject.bytes(blob, stored, store.id))
        return .wasPut
    }

    package static func bytes(
        of blob: BlobReference, in storeID: StoreID, on bucket: some Bucket
    ) throws(ReplicationError) -> [UInt8] {
        try bucket.readExisting(
            ShardNames.blob(blob), byteCountMax: BlobObject.byteCount(of: blob),
            absence: "is missing; it contains \(blob.digest)"
        ) { (bytes) throws(DamagedObject) in try BlobObject.stored(bytes, blob, storeID) }
    }

    /// Those of some blobs without an object in the bucket, by its name and size. A LIST for each 1,000 names.
    static func absent(
        _ blobs: [BlobReference], on bucket: some Bucket
    ) throws(ReplicationError) -> [BlobReference] {
        guard !blobs.isEmpty else { return [] }
        var sizes: [String: Int] = [:]
        for object in try bucket.objects(ShardNames.blobPrefix) {
            sizes[object.name] = object.byteCount
        }
        return blobs.filter { sizes[ShardNames.blob($0)] != BlobObject.byteCount(of: $0) }
    }

    /// Those of some blobs, in the order of their numbers, whose objects are in the bucket, by their names and sizes. A LIST
    /// for each 1,000 names between the first and the last.
    package static func inBucket(
        _ blobs: [EvictableBlob], of store: BlobStore, on bucket: some Bucket
    ) throws -> [EvictableBlob] {
        guard let first = blobs.first, let last = blobs.last else { return [] }
        let wanted = Dictionary(blobs.map { ($0.number, $0.storedByteCount) }) { $1 }
        var found: Set<UInt64> = []
        let objects = try bucket.objects(
            ShardNames.blobPrefix, after: ShardNames.blobs(from: first.number),
            upTo: ShardNames.blobs(from: last.number + 1))
        for object in objects {
            guard let (number, digest) = ShardNames.blobParts(object.name),
                let byteCount = wanted[number],
                object.byteCount == BlobObject.byteCount(storing: byteCount)
            else { continue }
            do throws(StoreError) {
                // A copy of this folder may have stored other bytes under this number.
                if try store.isStored(digest, number: number) { found.insert(number) }
            } catch {
                // A blob whose entry is damaged stays here.
                guard case .corrupt = error else { throw error }
            }
        }
        return blobs.filter { found.contains($0.number) }
    }

    /// What the bucket gives of each of some blobs, or why not.
    static func answers(
        of blobs: [BlobReference], in storeID: StoreID, on bucket: some Bucket
    ) throws -> [Result<[UInt8], ReplicationError>] {
        typealias Answer = Result<[UInt8], ReplicationError>
        let found = Mutex([Answer](repeating: .failure(.stopped), count: blobs.count))
        try bucket.forEach(blobs.count) { index, bucket in
            let answer = Answer { () throws(ReplicationError) in
                try bytes(of: blobs[index], in: storeID, on: bucket)
            }
            found.withLock { $0[index] = answer }
        }
        return found.withLock { $0 }
    }

    static func bytes(
        of blobs: [BlobReference], in storeID: StoreID, on bucket: some Bucket
    ) throws -> [[UInt8]] {
        let found = Mutex(Array(repeating: [UInt8](), count: blobs.count))
        try bucket.forEach(blobs.count) { index, bucket in
            let bytes = try bytes(of: blobs[index], in: storeID, on: bucket)
            found.withLock { $0[index] = bytes }
        }
        return found.withLock { $0 }
    }
}

/// A blob of several chunks, as an object of its own.
///
///     0    "blobdobj"
///     8    version, 4 bytes: 1
///     12   coding; reserved, 3 bytes
///     16   store id, 16 bytes
///     32   blob number
///     40   digest of the payload as given, 32 bytes
///     72   byte count as given
///     80   byte count as stored
///     88   stored bytes
///     …    SHA-256 of all before
enum BlobObject {
    private static let magic = Array("blobdobj".utf8)
    private static let version: UInt32 = 1
    private static let headByteCount = 88
    private static let digestByteCount = 32

    static func byteCount(of blob: BlobReference) -> Int {
        byteCount(storing: blob.storedByteCount)
    }

    static func byteCount(storing storedByteCount: Int) -> Int {
        headByteCount + storedByteCount + digestByteCount
    }

    static func bytes(_ blob: BlobReference, _ stored: [UInt8], _ storeID: StoreID) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(byteCount(of: blob))
        appendHead(of: blob, storeID, to: &bytes)
        bytes += stored
        let hash = SHA256.digest(of: bytes.span.bytes)
        bytes.append(contentsOf: hash.span.bytes)
        return bytes
    }

    private static func appendHead(
        of blob: BlobReference, _ storeID: StoreID, to bytes: inout [UInt8]
    ) {
        bytes += magic
        bytes.append(littleEndian: version)
        bytes.append(blob.coding.rawValue)
        bytes.appendZeros(3)
        storeID.append(to: &bytes)
        bytes.append(littleEndian: blob.number)
        bytes.append(contentsOf: blob.digest.rawWords.span.bytes)
        bytes.append(littleEndian: UInt64(blob.byteCount))
        bytes.append(littleEndian: UInt64(blob.storedByteCount))
    }

    static func stored(
        _ bytes: [UInt8], _ blob: BlobReference, _ storeID: StoreID
    ) throws(DamagedObject) -> [UInt8] {
        guard bytes.count == byteCount(of: blob) else {
            throw DamagedObject(
                "has \(bytes.count) bytes; the blob \(blob.number) takes \(byteCount(of: blob))")
        }
        let end = bytes.count - digestByteCount
        let hash = SHA256.digest(of: bytes.span.bytes.extracting(first: end))
        guard bytes.span.bytes.extracting(last: digestByteCount).equals(hash.span.bytes) else {
            throw DamagedObject("fails its SHA-256")
        }
        var head: [UInt8] = []
        appendHead(of: blob, storeID, to: &head)
        guard bytes.span.bytes.extracting(first: headByteCount).equals(head.span.bytes) else {
            throw DamagedObject("belongs to another blob")
        }
        return Array(bytes[headByteCount..<end])
    }
}
