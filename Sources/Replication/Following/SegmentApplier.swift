package import BlobStore

/// Does again, in a follower's store, what segments say.
package struct SegmentApplier {
    private let store: BlobStore
    /// Runs a change on the thread that writes.
    private let onWriter: OnWriter
    /// The store's bytes from which on long blobs stay in the bucket; nil: all are fetched.
    private let localByteCountMax: Int?

    /// - Parameters:
    ///   - store: it follows.
    ///   - localByteCountMax: while the store has so many bytes, long blobs stay in the bucket; nil: all are
    ///     fetched.
    ///   - onWriter: runs a change.
    package init(
        _ store: BlobStore, localByteCountMax: Int? = nil, onWriter: @escaping OnWriter
    ) {
        self.store = store
        self.localByteCountMax = localByteCountMax
        self.onWriter = onWriter
    }

    /// Applies a segment: long blobs first, then its batches.
    package func apply(
        _ segment: Segment, on bucket: some Bucket
    ) throws(ReplicationError) {
        try apply(segment.items, of: segment.head.epoch, at: segment.position, on: bucket)
    }

    /// Applies batches of one segment, or of several that follow one another.
    ///
    /// - Parameters:
    ///   - items: in order. Those that are done already are left out.
    ///   - epoch: that of the last segment.
    ///   - position: the last segment.
    package func apply(
        _ items: [Segment.Item], of epoch: UInt64, at position: LogPosition, on bucket: some Bucket
    ) throws(ReplicationError) {
        let done = store.lastSequence
        var leases = StagedLeases(of: store)
        // Some come with their batches, in one commit; what is more is written ahead.
        var longBlobs: [UInt64: LongBlob] = [:]
        var held = 0
        let news = items.map(\.batch).filter { $0.sequence > done }
        let (left, fetched) = LongBlobs.split(LongBlobs.of(news), leavesBlobs: try isFull)
        for blob in left { longBlobs[blob.number] = .evicted }
        try LongBlobs.inGroups(fetched) { (group) throws(ReplicationError) in
            for (blob, bytes) in zip(group, try bytes(of: group, on: bucket)) {
                held += bytes.count
                guard held > ReplicationLimits.heldBlobByteCount else {
                    longBlobs[blob.number] = .bytes(bytes)
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
                    items, longBlobs: blobs, of: epoch, at: position)
            }
        }
    }

    /// Whether the store has as many bytes as it may.
    private var isFull: Bool {
        get throws(ReplicationError) {
            guard let localByteCountMax else { return false }
            return try inStore { () throws(StoreError) in try store.usedByteCount() }
                >= localByteCountMax
        }
    }

    /// The stored bytes of blobs that a segment names. Blobs that were retired before the oldest base are
    /// deleted: who is behind it finds segments that name them.
    private func bytes(
        of blobs: [BlobReference], on bucket: some Bucket
    ) throws(ReplicationError) -> [[UInt8]] {
        do throws(ReplicationError) {
            return try LongBlobs.bytes(of: blobs, in: store.id, on: bucket)
        } catch {
            // From where this store is, and not from the last of several segments: the base may lie between. By
            // its changes: a base has some that were shipped behind its segment.
            guard case .damaged = error, let state = store.replicationState,
                let oldest = try? BaseManifest.numbers(on: bucket).first,
                let base = try? BaseManifest.read(oldest, on: bucket),
                base.sequence > state.sequence
            else { throw error }
            throw .tooOld(position: state.position.number)
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
