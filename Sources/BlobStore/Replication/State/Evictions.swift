internal import Synchronization

/// Blobs whose chunks are about to be removed here: their objects in the bucket have the bytes.
///
/// A reader may continue with a chunk's pages under a lease. So a blob is first closed: a reader that has no lease
/// finds it evicted. When all snapshots have ended that were open before, everyone who uses its pages has a lease.
/// If nobody has, the chunks are removed. It is open again when no snapshot has them any more.
final class Evictions: Sendable {
    private enum Phase {
        case closed
        /// Somebody who has a lease continued to read it: its chunks stay.
        case kept
        case removing
    }

    /// Blobs that are evicted together, and how far that is.
    struct Run {
        enum Stage {
            /// It waits for the snapshots that were open before this transaction.
            case closing(transaction: UInt64)
            /// Chunks are removed, from this blob on; those before it by this transaction and earlier ones.
            case removing(next: Int, transaction: UInt64)
            /// It waits for the snapshots that have the chunks.
            case removed(transaction: UInt64)
        }

        var blobs: [EvictableBlob]
        var stage: Stage

        /// The commit that every open snapshot must have before the next step; nil: none.
        var awaitedTransaction: UInt64? {
            switch stage {
            case .closing(let transaction), .removed(let transaction): transaction
            case .removing: nil
            }
        }
    }

    /// Whether blobs are evicted by this process at all. It is known before the first reader comes.
    let isEnabled: Bool
    private let leases: LeaseTable
    private let phases = Mutex<[UInt64: Phase]>([:])
    /// Changed by the writing thread only; nil: nothing is being evicted.
    let run = Mutex<Run?>(nil)
    let countEver = Atomic(0)

    init(_ leases: LeaseTable, isEnabled: Bool) {
        self.leases = leases
        self.isEnabled = isEnabled
    }

    // MARK: - Readers

    /// Whether a blob's chunks may be read by who looks at one for the first time.
    func admits(_ number: UInt64) -> Bool {
        guard isEnabled else { return true }
        return phases.withLock { phases in
            switch phases[number] {
            case nil, .kept: return true
            case .removing: return false
            case .closed:
                guard leases.isHeld(number) else { return false }
                phases[number] = .kept
                return true
            }
        }
    }

    /// Calls `body`, which notes that a chunk is verified, unless the blob is being evicted.
    func ifOpen(_ number: UInt64, _ body: () -> Void) {
        guard isEnabled else { return body() }
        phases.withLock { phases in
            if phases[number] == nil { body() }
        }
    }

    // MARK: - The thread that writes

    /// Closes blobs. `forget` is called for each: the chunks of a blob must not count as verified from then on.
    func close(_ blobs: [EvictableBlob], forgetting forget: (EvictableBlob) -> Void) {
        phases.withLock { phases in
            for blob in blobs {
                phases[blob.number] = .closed
                forget(blob)
            }
        }
    }

    func open(_ blobs: some Sequence<EvictableBlob>) {
        phases.withLock { phases in
            for blob in blobs { phases[blob.number] = nil }
        }
    }

    /// Decides which closed blobs are removed, when all earlier snapshots have ended: those that nobody has a lease
    /// of.
    func decide(
        _ blobs: [EvictableBlob]
    ) -> (removed: [EvictableBlob], kept: [EvictableBlob]) {
        phases.withLock { phases in
            var (removed, kept): ([EvictableBlob], [EvictableBlob]) = ([], [])
            for blob in blobs {
                switch phases[blob.number] {
                case .closed where !leases.isHeld(blob.number):
                    phases[blob.number] = .removing
                    removed.append(blob)
                // It was put back: its mark is gone already.
                case nil: break
                case .closed, .kept, .removing: kept.append(blob)
                }
            }
            return (removed, kept)
        }
    }

    /// Has a blob stay that is closed and not removed yet; false when its chunks are being removed, nil when it is
    /// not closed.
    func keep(_ number: UInt64) -> Bool? {
        phases.withLock { phases in
            switch phases[number] {
            case nil: return nil
            case .removing: return false
            case .closed, .kept:
                phases[number] = nil
                return true
            }
        }
    }
}

/// A blob of several chunks that is here.
package struct EvictableBlob: Sendable, Hashable {
    package var number: UInt64
    package var chunkCount: Int
    /// Bytes of those that are here, as stored.
    package var storedByteCount: Int
}

package enum EvictionStep: Sendable, Hashable {
    /// Snapshots are open that may use what is to be removed: try again a moment later.
    case waits
    /// There is another step.
    case continues
    /// Nothing is being evicted any more.
    case done
}

package enum PutBackOutcome: Sendable, Hashable {
    /// They are here.
    case stored
    /// The blob is being removed this moment, or its damaged pages are being sent: try again a moment later.
    case later
    /// The blob is here already, or nobody needs it any more.
    case gone
}
