package import BlobStore
internal import Bytes
internal import Hashing

package enum Seeder {
    /// Makes a store of a base. What was in the folder is replaced when the new store is whole.
    ///
    /// - Parameter leavesBlobs: whether long blobs stay in the bucket until somebody asks for them.
    package static func seed(
        _ directory: String, options: StoreOptions, from manifest: BaseManifest,
        leavesBlobs: Bool = false, asOf now: Timestamp, on bucket: some Bucket,
        progress: (_ byteCount: Int, _ total: Int) -> Void = { _, _ in }
    ) throws {
        guard let storeID = StoreID(manifest.storeID) else {
            throw ReplicationError.damaged(
                name: ShardNames.manifest(manifest.position.number), why: "lacks the store id")
        }
        var reader = BaseReader(manifest)
        try BlobStore.seed(
            directory, options: options, as: manifest.state, asOf: now, progress: progress
        ) { buffer, byteCountMax in
            try reader.read(into: &buffer, byteCountMax: byteCountMax, on: bucket)
        } blobs: { blobs, put in
            let (left, fetched) = LongBlobs.split(blobs, leavesBlobs: leavesBlobs)
            for blob in left { try put(blob, .evicted) }
            try LongBlobs.inGroups(fetched) { group in
                do {
                    let all = try LongBlobs.bytes(of: group, in: storeID, on: bucket)
                    for (blob, bytes) in zip(group, all) { try put(blob, .bytes(bytes)) }
                } catch ReplicationError.damaged {
                    // The base may say of one that its bytes were lost before they were shipped.
                    for blob in group { try Self.put(blob, in: storeID, on: bucket, put) }
                }
            }
        }
    }

    /// About how many bytes a store takes that is made of a base, and all its long blobs, but for those of which the base
    /// says that they are lost. All of the base is read, and checked.
    ///
    /// - Parameter leavesBlobs: whether long blobs stay in the bucket, and take no bytes here.
    static func size(
        of manifest: BaseManifest, leavesBlobs: Bool, on bucket: some Bucket
    ) throws -> (byteCount: Int, blobs: [BlobReference]) {
        var reader = BaseReader(manifest)
        let (byteCount, all, lost) = try BlobStore.seedSize { buffer, byteCountMax in
            try reader.read(into: &buffer, byteCountMax: byteCountMax, on: bucket)
        }
        let fetched = LongBlobs.split(all, leavesBlobs: leavesBlobs).fetched
        return (
            fetched.reduce(byteCount) { $0 + BlobStore.seedSize(of: $1) },
            all.filter { !lost.contains($0.number) }
        )
    }

    private static func put(
        _ blob: BlobReference, in storeID: StoreID, on bucket: some Bucket,
        _ put: (BlobReference, LongBlob) throws -> Void
    ) throws {
        do {
            try put(blob, .bytes(try LongBlobs.bytes(of: blob, in: storeID, on: bucket)))
        } catch let error as ReplicationError {
            guard case .damaged = error, (try? put(blob, .missing)) != nil else { throw error }
        }
    }
}

struct BaseReader {
    private let manifest: BaseManifest
    private var next = 0
    private var part: ArraySlice<UInt8> = []

    init(_ manifest: BaseManifest) { self.manifest = manifest }

    /// Appends up to so many bytes; nothing at the end.
    mutating func read(
        into buffer: inout [UInt8], byteCountMax: Int, on bucket: some Bucket
    ) throws(ReplicationError) {
        if part.isEmpty, next < manifest.parts.count {
            part = try bytes(ofPart: next, on: bucket)[...]
            next += 1
        }
        let count = min(byteCountMax, part.count)
        buffer += part.prefix(count)
        part = part.dropFirst(count)
    }

    private func bytes(
        ofPart index: Int, on bucket: some Bucket
    ) throws(ReplicationError) -> [UInt8] {
        let part = manifest.parts[index]
        return try bucket.readExisting(
            ShardNames.part(index, ofBase: manifest.position.number),
            byteCountMax: ReplicationLimits.partByteCountMax
        ) { (bytes) throws(DamagedObject) in
            guard bytes.count == part.byteCount,
                Digest(SHA256.digest(of: bytes.span.bytes)) == part.digest
            else { throw DamagedObject("does not match the manifest") }
            return bytes
        }
    }
}
