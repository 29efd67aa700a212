package import BlobStore

/// Finds out, at a start, whether a store that led leads still, and what of it is in the log.
///
/// A store may have shipped more than it noted before it died. What is in the log behind its position must be
/// its own: anything else was written by another leader, or by a copy of this store.
package enum Resumption {
    /// What was found.
    package enum Outcome: Sendable, Hashable {
        /// It leads still. All of its log is noted.
        case leads
        /// It leads no more.
        case deposed(epoch: UInt64, host: String)
    }

    /// Notes a segment that is this store's own as shipped.
    ///
    /// - Throws: ``ReplicationError/forked(number:)`` for one of another leader, or of another copy of this
    ///   store.
    package static func note(
        _ segment: Segment, of store: BlobStore, _ state: ReplicationState
    ) throws(ReplicationError) {
        guard state.isOwn(segment.head.nonce), segment.head.sequence <= store.lastSequence else {
            throw .forked(number: segment.head.number)
        }
        let byteCount = segment.items.reduce(0) { $0 + $1.batch.byteCountWithBlobs }
        store.noteShipped(segment.head.sequence, byteCount: byteCount, at: segment.position)
    }

    /// Reads the log behind the store's position. A request for each name.
    ///
    /// - Parameters:
    ///   - store: it leads, or led.
    ///   - state: the store's.
    package static func run(
        _ store: BlobStore, _ state: ReplicationState, on bucket: some Bucket
    ) throws(ReplicationError) -> Outcome {
        var log = LogFollower(storeID: store.id, behind: state.position)
        while case .segment(let segment) = try log.next(on: bucket, looksAtPacks: true) {
            do throws(ReplicationError) { try note(segment, of: store, state) } catch {
                return .deposed(
                    epoch: segment.head.epoch,
                    host: (try? Epochs.document(segment.head.epoch, on: bucket))?.host ?? "")
            }
        }
        // One of this run that was not noted before it died is its own.
        if let newest = try Epochs.newest(on: bucket, of: store.id), newest.number > state.epoch,
            !state.isOwn(newest.document.nonce)
        {
            return .deposed(epoch: newest.number, host: newest.document.host)
        }
        return .leads
    }
}
