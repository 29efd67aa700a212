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
        /// It leads no more: of what was shipped this is the last name, and another leader's is behind it.
        case deposed(epoch: UInt64, host: String, end: LogPosition)
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
        while true {
            let before = log.position
            guard case .segment(let segment) = try log.next(on: bucket, looksAtPacks: true) else {
                break
            }
            let isOwn = segment.head.epoch == state.epoch && segment.head.nonce == state.nonce
            guard isOwn, segment.head.sequence <= store.lastSequence else {
                return .deposed(
                    epoch: segment.head.epoch,
                    host: (try? Epochs.document(segment.head.epoch, on: bucket))?.host ?? "",
                    end: before)
            }
            let byteCount = segment.items.reduce(0) { $0 + $1.batch.byteCountWithBlobs }
            store.noteShipped(
                segment.head.sequence, byteCount: byteCount, at: segment.position)
        }
        if let newest = try Epochs.newest(on: bucket), newest.number > state.epoch {
            return .deposed(
                epoch: newest.number, host: newest.document.host, end: log.position)
        }
        return .leads
    }
}
