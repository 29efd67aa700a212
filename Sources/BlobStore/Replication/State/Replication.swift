internal import Synchronization

/// What this process knows of a store's part in a shard. Nothing of it is used in a store that is not
/// replicated.
final class Replication: Sendable {
    /// What is known, in one piece.
    struct Shard {
        /// The store's state now; nil: it was never about to belong to a shard.
        var state: ReplicationState?
        /// The state that `data.mdb` has, with which a start after a crash begins.
        var saved: ReplicationState?
        var epochs = EpochList()
        /// Blobs of the batches above the sequence of `saved`: a start after a crash may ship those again.
        var unshipped = UnshippedBlobs()
    }

    let shard = Mutex(Shard())
    let isReplicated = Atomic(false)
    /// Whether changes are noted, to be shipped. One load where it is not.
    let capturesChanges = Atomic(false)
    /// Whether a change that would be shipped is refused: this store follows, or its lead ends. Nobody who makes changes
    /// has to ask.
    let refusesChanges = Atomic(false)
    /// Whether this store was opened as a leader and does not know whether it still is: the next batch begins after a gap,
    /// unless it begins an epoch. For the thread that writes.
    let isUnconfirmed = Atomic(false)
    let lastSequence = Atomic<UInt64>(0)
    let shippedSequence = Atomic<UInt64>(0)
    /// What the batches have that were shipped, and all there were: both only grow.
    let byteCountEver = Atomic(0)
    let byteCountShipped = Atomic(0)

    var state: ReplicationState? { shard.withLock { $0.state } }

    /// Notes a batch that is acknowledged, or will be.
    func note(_ batch: CapturedBatch, _ leases: LeaseTable) {
        if let number = batch.firstBlobNumber {
            shard.withLock { shard in
                shard.unshipped.append(number, of: batch.sequence)
                leases.keepsFrom.store(shard.unshipped.lowestNumber, ordering: .releasing)
            }
        }
        if let epochs = batch.epochs {
            shard.withLock { $0.epochs = epochs }
            isUnconfirmed.store(false, ordering: .relaxed)
        }
        byteCountEver.add(batch.byteCount, ordering: .relaxed)
        lastSequence.store(batch.sequence, ordering: .releasing)
    }

    /// Notes what is in the bucket. ``noteSaved(_:_:)`` follows when the file says so, too.
    ///
    /// - Parameter epoch: of the segment; nil: the one before.
    func noteShipped(_ sequence: UInt64, at position: LogPosition, of epoch: UInt64?) {
        shard.withLock { shard in
            if let epoch { shard.state?.epoch = epoch }
            shard.state?.position = position
            shard.state?.sequence = sequence
        }
        shippedSequence.store(sequence, ordering: .releasing)
    }

    /// Notes a state that was committed. The bucket may have more by now. `epochs`: nil: as they were.
    func noteSaved(
        _ state: ReplicationState, _ leases: LeaseTable, epochs: EpochList? = nil
    ) {
        shard.withLock { shard in
            if let epochs { shard.epochs = epochs }
            var now = state
            if let shipped = shard.state, shipped.sequence >= state.sequence,
                shipped.position.number > state.position.number
            {
                now.epoch = shipped.epoch
                now.position = shipped.position
                now.sequence = shipped.sequence
            }
            shard.state = now
            shard.saved = state
            shard.unshipped.removeAll(upTo: state.sequence)
            leases.keepsFrom.store(shard.unshipped.lowestNumber, ordering: .releasing)
        }
    }
}

/// The lowest number among the blobs of batches that are not known to be shipped. A number that is not below that
/// of a later batch is never the lowest again, and is forgotten: those that are left grow from the front on.
struct UnshippedBlobs {
    private var batches: [(sequence: UInt64, number: UInt64)] = []
    /// The first of them that was not removed.
    private var first = 0

    /// `UInt64.max`: there is none.
    var lowestNumber: UInt64 { first < batches.count ? batches[first].number : .max }

    /// Adds the lowest number of the blobs of a batch after all others.
    mutating func append(_ number: UInt64, of sequence: UInt64) {
        while batches.count > first, batches[batches.count - 1].number >= number {
            batches.removeLast()
        }
        batches.append((sequence, number))
    }

    mutating func removeAll(upTo sequence: UInt64) {
        while first < batches.count, batches[first].sequence <= sequence { first += 1 }
        // Each time at most as many are moved as were removed since the last time.
        guard 2 * first >= batches.count else { return }
        batches.removeFirst(first)
        first = 0
    }
}

/// A batch that a transaction put among those that wait to be shipped.
struct CapturedBatch {
    var sequence: UInt64
    /// With the bytes of its blobs.
    var byteCount: Int
    /// The lowest number of a blob that it stored; nil: none.
    var firstBlobNumber: UInt64?
    var epochs: EpochList?
}
