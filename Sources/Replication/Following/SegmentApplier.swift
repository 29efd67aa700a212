package import BlobStore

/// Does again, in a follower's store, what segments say.
package struct SegmentApplier {
    private let store: BlobStore
    /// Runs a change on the thread that writes.
    private let onWriter: OnWriter

    /// Runs a change of the store on the thread that makes them all, and returns when it is done.
    package typealias OnWriter =
        @Sendable (
            @escaping @Sendable (BlobStore) throws(StoreError) -> Void
        ) throws(StoreError) -> Void

    /// - Parameters:
    ///   - store: it follows.
    ///   - onWriter: runs a change.
    package init(_ store: BlobStore, onWriter: @escaping OnWriter) {
        self.store = store
        self.onWriter = onWriter
    }

    /// Applies a segment: long blobs first, then its batches.
    package func apply(
        _ segment: Segment, on bucket: some Bucket
    ) throws(ReplicationError) {
        let done = store.lastSequence
        var leases = StagedLeases(of: store)
        // Some come with their batches, in one commit; what is more is written ahead.
        var longBlobs: [UInt64: [UInt8]] = [:]
        var held = 0
        for item in segment.items where item.batch.sequence > done {
            for blob in item.batch.blobs where !blob.isShippedWithBatch {
                let bytes = try Self.bytes(of: blob, in: store.id, on: bucket)
                held += bytes.count
                guard held > ReplicationLimits.heldBlobByteCount else {
                    longBlobs[blob.number] = bytes
                    continue
                }
                leases.take(blob)
                try inStore { () throws(StoreError) in
                    try onWriter { (store) throws(StoreError) in try store.stage(blob, bytes) }
                }
            }
        }
        let blobs = longBlobs
        try inStore { () throws(StoreError) in
            try onWriter { (store) throws(StoreError) in
                try store.apply(
                    segment.items, longBlobs: blobs, of: segment.head.epoch, at: segment.position)
            }
        }
    }

    /// The stored bytes of a long blob, from its object.
    package static func bytes(
        of blob: BlobReference, in storeID: StoreID, on bucket: some Bucket
    ) throws(ReplicationError) -> [UInt8] {
        let name = ShardNames.blob(blob.number)
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
}

/// Leases of blobs that are staged.
private struct StagedLeases: ~Copyable {
    private let store: BlobStore
    private var leases: [HeldLease] = []

    private final class HeldLease {
        let lease: Lease
        init(_ lease: consuming Lease) { self.lease = lease }
    }

    init(of store: BlobStore) { self.store = store }

    mutating func take(_ blob: BlobReference) { leases.append(HeldLease(store.lease(blob))) }
}
