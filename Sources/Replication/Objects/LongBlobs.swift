package import BlobStore
import Synchronization

/// Long blobs on their way to a bucket and from it: several at the same time.
package enum LongBlobs {
    /// The long blobs that batches brought, in their order.
    package static func of(_ batches: [ReplicatedBatch]) -> [BlobReference] {
        batches.flatMap(\.longBlobs)
    }

    /// Those of some blobs that stay in the bucket until somebody asks for them, and those that are
    /// fetched, in their order.
    ///
    /// - Parameter leavesBlobs: whether any stay there.
    static func split(
        _ blobs: [BlobReference], leavesBlobs: Bool
    ) -> (left: [BlobReference], fetched: [BlobReference]) {
        guard leavesBlobs else { return ([], blobs) }
        return (blobs.filter { $0.isEvictable }, blobs.filter { !$0.isEvictable })
    }

    /// Calls `body` with some blobs after the other, in their order: as many as may be held in memory together.
    package static func inGroups<Failure: Error>(
        _ blobs: [BlobReference], _ body: ([BlobReference]) throws(Failure) -> Void
    ) throws(Failure) {
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

    /// The object of a blob.
    ///
    /// - Parameter stored: its bytes as stored.
    package static func object(
        of blob: BlobReference, _ stored: [UInt8], storeID: StoreID
    ) -> [UInt8] { BlobObject.bytes(blob, stored, storeID) }

    /// Stores the objects of blobs.
    ///
    /// - Parameter bytes: a blob's, as stored; nil: it has gone, and is left out. Called by several threads.
    static func put(
        _ blobs: [BlobReference], of storeID: StoreID, on bucket: some Bucket,
        bytes: @Sendable (BlobReference) throws(ReplicationError) -> [UInt8]?
    ) throws(ReplicationError) {
        try inGroups(blobs) { (group) throws(ReplicationError) in
            try bucket.forEach(group.count) { (index, bucket) throws(ReplicationError) in
                let blob = group[index]
                guard let stored = try bytes(blob) else { return }
                let object = object(of: blob, stored, storeID: storeID)
                try onBucket { () throws(BucketError) in
                    try bucket.put(ShardNames.blob(blob), object)
                }
            }
        }
    }

    /// The stored bytes of a blob, from its object.
    package static func bytes(
        of blob: BlobReference, in storeID: StoreID, on bucket: some Bucket
    ) throws(ReplicationError) -> [UInt8] {
        let name = ShardNames.blob(blob)
        let object = try onBucket { () throws(BucketError) in
            try bucket.get(name, byteCountMax: BlobObject.byteCount(of: blob))
        }
        guard let object else {
            throw .damaged(name: name, why: "is missing, and \(blob.digest) is in it")
        }
        do throws(DamagedObject) { return try BlobObject.stored(object, blob, storeID) } catch {
            throw .damaged(name: name, why: error.description)
        }
    }

    /// The stored bytes of some blobs, in their order. All are held in memory.
    static func bytes(
        of blobs: [BlobReference], in storeID: StoreID, on bucket: some Bucket
    ) throws(ReplicationError) -> [[UInt8]] {
        let found = Found(count: blobs.count)
        try bucket.forEach(blobs.count) { (index, bucket) throws(ReplicationError) in
            let bytes = try bytes(of: blobs[index], in: storeID, on: bucket)
            found.bytes.withLock { $0[index] = bytes }
        }
        return found.bytes.withLock { $0 }
    }

    private final class Found: Sendable {
        let bytes: Mutex<[[UInt8]]>
        init(count: Int) { bytes = Mutex(Array(repeating: [], count: count)) }
    }
}
