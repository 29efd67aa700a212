package import BlobStore

/// What a store that led finds of itself in the log.
///
/// A store may have shipped more than it noted before it died. But a nonce does not say that a segment is this
/// store's own: a folder that was copied, or rolled back to an earlier state, has the nonce of another run. So
/// each batch of the segment is compared with the batch that waits here under its number, byte by byte.
package enum Resumption {
    package enum Outcome: Sendable, Hashable {
        case leads
        /// Behind what is this store's own are only fences of others, and the host of the last one was not seen to lead:
        /// it may be about to, or have died. Nothing has diverged yet. `beats`: how often it has said that it is about to.
        case fenced(epoch: UInt64, beats: UInt64?)
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
        store.noteShipped(
            segment.head.sequence, byteCount: byteCount, at: segment.position,
            of: segment.head.epoch)
        return true
    }

    /// Reads the log after the store's position. A request for each name.
    ///
    /// - Parameter fence: is called where another host's fence is found, also if this fails then.
    package static func run(
        _ store: BlobStore, on bucket: some Bucket, noting fence: () -> Void = {}
    ) throws -> Outcome {
        guard let state = store.replicationState else { return .leads }
        var log = LogFollower(storeID: store.id, after: state.position)
        var fenced: Segment.Head?
        do {
            while let segment = try log.next(on: bucket, looksForBase: true) {
                let (head, isOwn) = (segment.head, state.isOwn(segment.head.nonce))
                if head.kind == .fence, !isOwn {
                    fenced = head
                    fence()
                } else if try note(segment, of: store) {
                    fenced = nil
                } else {
                    return .deposed(
                        epoch: head.epoch,
                        host: isOwn
                            ? "another copy of this store"
                            : AliveDocument.host(of: head.epoch, in: store.id, on: bucket))
                }
            }
            guard let fenced else { return .leads }
            let leader = try AliveDocument.readable(
                fenced.epoch, of: store.id.description, on: bucket)
            // One that still applies what is before its fence is not as far.
            if let leader, leader.segment >= fenced.number {
                return .deposed(epoch: fenced.epoch, host: leader.host)
            }
            return .fenced(epoch: fenced.epoch, beats: leader?.counter)
        } catch let error as ReplicationError {
            return try outcome(of: error, of: store, on: bucket)
        }
    }

    /// What it means that the log cannot be read from where this store is. What it wrote last may be in the log no more,
    /// or something else: others led meanwhile.
    static func outcome(
        of error: ReplicationError, of store: BlobStore, on bucket: some Bucket
    ) throws(ReplicationError) -> Outcome {
        switch error {
        case .tooOld, .forked:
            let newest = try AliveDocument.newest(of: store.id.description, on: bucket)
            return .deposed(
                epoch: newest?.epoch ?? store.replicationState?.epoch ?? 0,
                host: newest?.host ?? AliveDocument.unknownHost)
        default: throw error
        }
    }
}
