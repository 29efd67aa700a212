package import BlobStore

/// What a store that led finds of itself in the log.
///
/// A store may have shipped more than it noted before it died. But a nonce does not say that a segment is this
/// store's own: a folder that was copied, or rolled back to an earlier state, has the nonce of another run. So
/// each batch of the segment is compared with the batch that waits here under its number, byte by byte.
package enum Resumption {
    package enum Outcome: Sendable, Hashable {
        case leads
        case deposed(epoch: UInt64, host: String)
    }

    /// Notes a segment as shipped if it is this store's own.
    ///
    /// - Returns: false for a segment of another run, and for one whose batches this store does not have.
    package static func note(_ segment: Segment, of store: BlobStore) throws -> Bool {
        guard let state = store.replicationState, state.isOwn(segment.head.nonce),
            segment.head.sequence <= store.lastSequence
        else { return false }
        let shipped = store.shippedSequence
        for item in segment.items where item.batch.sequence > shipped {
            guard let own = try store.outboxBatch(item.batch.sequence), item.batch.isSame(as: own)
            else { return false }
        }
        let byteCount = segment.items.reduce(0) { $0 + $1.batch.byteCountWithBlobs }
        store.noteShipped(segment.head.sequence, byteCount: byteCount, at: segment.position)
        return true
    }

    /// Reads the log after the store's position. A request for each name.
    ///
    /// What the fences in the log say decides. An epoch that was created without a fence was never led in: its
    /// host was interrupted, and may lead later or never.
    package static func run(_ store: BlobStore, on bucket: some Bucket) throws -> Outcome {
        guard let state = store.replicationState else { return .leads }
        var log = LogFollower(storeID: store.id, after: state.position)
        do {
            while let segment = try log.next(on: bucket, looksForBase: true) {
                guard try note(segment, of: store) else {
                    return .deposed(
                        epoch: segment.head.epoch,
                        host: state.isOwn(segment.head.nonce)
                            ? "another copy of this store"
                            : Epochs.host(of: segment.head.epoch, on: bucket))
                }
            }
        } catch let error as ReplicationError {
            return try outcome(of: error, state, on: bucket)
        }
        return .leads
    }

    /// What it means that the log cannot be read from where this store is. What it wrote last may be in the log no more,
    /// or something else: others led meanwhile.
    static func outcome(
        of error: ReplicationError, _ state: ReplicationState, on bucket: some Bucket
    ) throws(ReplicationError) -> Outcome {
        switch error {
        case .tooOld, .forked:
            let epoch = try Epochs.newestNumber(on: bucket) ?? state.epoch
            return .deposed(epoch: epoch, host: Epochs.host(of: epoch, on: bucket))
        default: throw error
        }
    }
}
