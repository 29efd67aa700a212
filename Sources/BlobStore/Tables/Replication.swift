internal import Synchronization

/// What this process knows of a store's part in a shard. Nothing of it is used in a store that is not
/// replicated.
final class Replication: Sendable {
    /// What is known, in one piece.
    struct Knowledge {
        /// nil: the store is not replicated.
        var state: ReplicationState?
        var epochs = EpochList()
        /// Batches that wait to be shipped, with the lowest number of a blob that each stored.
        var unshippedBlobs: [(sequence: UInt64, number: UInt64)] = []
        /// What the store's file says is shipped.
        var removedSequence: UInt64 = 0
    }

    let knowledge = Mutex(Knowledge())
    /// Whether the store belongs to a shard.
    let isReplicated = Atomic(false)
    /// Whether changes are noted, to be shipped. One load where it is not.
    let capturesChanges = Atomic(false)
    /// The last batch of this store.
    let lastSequence = Atomic<UInt64>(0)
    /// The last batch that is in the bucket.
    let shippedSequence = Atomic<UInt64>(0)
    /// What the batches have that were shipped, and all there were: both only grow.
    let byteCountEver = Atomic(0)
    let byteCountShipped = Atomic(0)

    /// The store's state; nil when it is not replicated.
    var state: ReplicationState? { knowledge.withLock { $0.state } }

    /// Notes a batch that is acknowledged, or will be.
    func note(_ batch: CapturedBatch, _ leases: LeaseTable) {
        knowledge.withLock { knowledge in
            guard let number = batch.firstBlobNumber else { return }
            knowledge.unshippedBlobs.append((batch.sequence, number))
            leases.keepsFrom.store(
                min(leases.keepsFrom.load(ordering: .relaxed), number), ordering: .releasing)
        }
        byteCountEver.add(batch.byteCount, ordering: .relaxed)
        lastSequence.store(batch.sequence, ordering: .releasing)
    }

    /// Notes up to where the file has no shipped batch any more.
    func noteRemoved(_ sequence: UInt64) {
        knowledge.withLock { $0.removedSequence = sequence }
    }

    /// Notes what is in the bucket.
    func noteShipped(_ sequence: UInt64, at position: LogPosition, _ leases: LeaseTable) {
        knowledge.withLock { knowledge in
            knowledge.state?.position = position
            knowledge.state?.sequence = sequence
            let first = knowledge.unshippedBlobs.firstIndex { $0.sequence > sequence }
            knowledge.unshippedBlobs.removeFirst(first ?? knowledge.unshippedBlobs.count)
            leases.keepsFrom.store(
                knowledge.unshippedBlobs.min { $0.number < $1.number }?.number ?? .max,
                ordering: .releasing)
        }
        shippedSequence.store(sequence, ordering: .releasing)
    }
}

/// A batch that a transaction put among those that wait to be shipped.
struct CapturedBatch {
    var sequence: UInt64
    /// With the bytes of its blobs.
    var byteCount: Int
    /// The lowest number of a blob that it stored; nil: none.
    var firstBlobNumber: UInt64?
}
