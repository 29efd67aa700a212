package import BlobStore

package struct SegmentApplier {
    private let store: BlobStore
    private let writer: any StoreWriter
    /// The store's bytes from which on long blobs stay in the bucket; nil: all are fetched.
    private let localByteCountMax: Int?

    /// - Parameters:
    ///   - localByteCountMax: while the store has so many bytes, long blobs stay in the bucket; nil: all are
    ///     fetched.
    package init(
        _ store: BlobStore, localByteCountMax: Int? = nil, writer: any StoreWriter
    ) {
        self.store = store
        self.localByteCountMax = localByteCountMax
        self.writer = writer
    }

    package func apply(_ segment: Segment, on bucket: some Bucket) throws {
        try apply(segment.items, of: segment.head.epoch, at: segment.position, on: bucket)
    }

    /// Applies batches of one segment, or of several that follow one another.
    ///
    /// - Parameters:
    ///   - items: in order. Those that are done already are left out.
    ///   - leaving: called with each long blob that the bucket does not give, and that stays there; nil: none stays there.
    ///     Where this throws, the store may have its batch all the same.
    package func apply(
        _ items: [Segment.Item], of epoch: UInt64, at position: LogPosition,
        on bucket: some Bucket, leaving: ((UngivenBlob) -> Void)? = nil
    ) throws {
        let done = store.lastSequence
        // Those that are staged are not freed before their batches have them.
        var leases = LeaseQueue(of: store)
        // Some come with their batches, in one commit; what is more is written ahead.
        var longBlobs: [UInt64: LongBlob] = [:]
        var held = 0
        let news = items.map(\.batch).filter { $0.sequence > done }
        let (left, fetched) = LongBlobs.split(
            news.flatMap(\.longBlobs), leavesBlobs: try isFull)
        for blob in left { longBlobs[blob.number] = .evicted }
        try LongBlobs.inGroups(fetched) { group in
            let all =
                if let leaving {
                    try givenBytes(of: group, on: bucket, leaving)
                } else { try bytes(of: group, on: bucket) }
            for (blob, bytes) in zip(group, all) {
                guard let bytes else {
                    longBlobs[blob.number] = .evicted
                    continue
                }
                held += bytes.count
                guard held > ReplicationLimits.heldBlobByteCount else {
                    longBlobs[blob.number] = .bytes(bytes)
                    continue
                }
                leases.take(blob, until: 0)
                try writer.write { (store) throws(StoreError) in try store.stage(blob, bytes) }
            }
        }
        let blobs = longBlobs
        try writer.write { (store) throws(StoreError) in
            try store.apply(items, longBlobs: blobs, of: epoch, at: position)
        }
        leases.release(upTo: 0)
    }

    private var isFull: Bool {
        get throws {
            guard let localByteCountMax else { return false }
            return try store.usedByteCount() >= localByteCountMax
        }
    }

    /// The stored bytes of blobs that a segment names. Blobs that were retired before the oldest base are
    /// deleted: who is behind it finds segments that name them.
    private func bytes(of blobs: [BlobReference], on bucket: some Bucket) throws -> [[UInt8]?] {
        do {
            return try LongBlobs.bytes(of: blobs, in: store.id, on: bucket)
        } catch let error as ReplicationError {
            throw (error.problem == nil ? nil : tooOld(on: bucket)) ?? error
        }
    }

    /// Why an object may be gone: a base took the place of all that is before it; nil: that is not so.
    private func tooOld(on bucket: some Bucket) -> ReplicationError? {
        // From where this store is, and not from the last of several segments: the base may lie between. By its
        // changes: a base has some that were shipped after its segment.
        guard let state = store.replicationState,
            let oldest = try? BaseManifest.numbers(on: bucket).first,
            let base = try? BaseManifest.read(oldest, on: bucket),
            base.sequence > state.sequence
        else { return nil }
        return .tooOld(position: state.position.number)
    }

    /// As ``bytes(of:on:)``; nil for those that the bucket does not give. All are asked for at the same time: each may take
    /// the whole time-out.
    private func givenBytes(
        of blobs: [BlobReference], on bucket: some Bucket, _ leaving: (UngivenBlob) -> Void
    ) throws -> [[UInt8]?] {
        let answers = try LongBlobs.answers(of: blobs, in: store.id, on: bucket)
        let failures: [(BlobReference, ReplicationError)] = zip(blobs, answers).compactMap {
            guard case (let blob, .failure(let error)) = $0 else { return nil }
            return (blob, error)
        }
        let hasDamage = failures.contains { $0.1.problem != nil }
        if hasDamage, let error = tooOld(on: bucket) { throw error }
        let ungiven = try failures.map { blob, error in
            guard error.isOfOneObject, blob.isEvictable else { throw error }
            return UngivenBlob(blob: blob, error: error)
        }
        // A bucket that is away says nothing of its objects.
        if !ungiven.isEmpty { _ = try StoreDocument.read(on: bucket) }
        ungiven.forEach(leaving)
        return answers.map { try? $0.get() }
    }
}

/// A long blob that the bucket does not give.
package struct UngivenBlob: Sendable {
    package var blob: BlobReference
    /// Why; nil: it was not asked for yet.
    package var error: ReplicationError?
}
