package import BlobStore

/// Takes the lead of a shard: a new epoch, all of the log, and a fence behind it.
///
/// The leader before has one name in flight at the most, and skips none. So the first name that is free is the
/// one that it would write next; once the fence has it, nothing of that leader can follow.
package struct TakeOver {
    /// How a take-over ended.
    package enum Outcome: Sendable {
        /// This store leads in this epoch, behind the fence.
        case leads(epoch: UInt64, nonce: Nonce, fence: LogPosition)
        /// Another store took a newer epoch meanwhile.
        case lost(epoch: UInt64, host: String)
    }

    private let storeID: StoreID
    private let nonce: Nonce
    private let host: String

    /// A take-over by this host.
    package init(storeID: StoreID, nonce: Nonce, host: String) {
        self.storeID = storeID
        self.nonce = nonce
        self.host = host
    }

    /// Takes over. The store has all of the log then, and is not the leader yet: call `lead` next.
    ///
    /// - Parameters:
    ///   - log: behind what this store has applied. It is moved on.
    ///   - sequence: the last batch that this store has, after each `apply`.
    ///   - now: the present.
    ///   - apply: does what a segment says.
    package func run(
        _ log: inout LogFollower, on bucket: some Bucket,
        sequence: () -> UInt64, asOf now: Timestamp,
        apply: (Segment) throws(ReplicationError) -> Void
    ) throws(ReplicationError) -> Outcome {
        let epoch = try createEpoch(on: bucket, asOf: now)
        while true {
            // Packs are looked at, too: a name that is free may have been packed and deleted.
            while case .segment(let segment) = try log.peek(on: bucket, looksAtPacks: true) {
                if segment.head.epoch > epoch {
                    return .lost(
                        epoch: segment.head.epoch,
                        host: (try? Epochs.document(segment.head.epoch, on: bucket))?.host ?? "")
                }
                try apply(segment)
                log.accept()
            }
            var writer = LogWriter(
                storeID: storeID, epoch: epoch, nonce: nonce, behind: log.position)
            writer.begin(.fence, [], sequence: sequence(), asOf: now)
            guard let fence = try create(&writer, on: bucket) else { continue }
            if let newest = try Epochs.newest(on: bucket, of: storeID), newest.number > epoch {
                return .lost(epoch: newest.number, host: newest.document.host)
            }
            if try !isPacked(fence.number, on: bucket) {
                return .leads(epoch: epoch, nonce: nonce, fence: fence)
            }
            // The name was free because it had been packed: the log goes on elsewhere.
        }
    }

    private func createEpoch(
        on bucket: some Bucket, asOf now: Timestamp
    ) throws(ReplicationError) -> UInt64 {
        let document = EpochDocument(
            storeID: storeID.description, nonce: nonce, host: host, time: now)
        while true {
            let newest = try Epochs.newest(on: bucket, of: storeID)?.number ?? 0
            if let created = try Epochs.create(newest + 1, document, on: bucket) {
                return created.number
            }
        }
    }

    /// - Returns: nil when the name was taken.
    private func create(
        _ writer: inout LogWriter, on bucket: some Bucket
    ) throws(ReplicationError) -> LogPosition? {
        var attempt = 0
        while true {
            switch try writer.attempt(on: bucket) {
            case .appended(let position): return position
            case .unknown:
                try onBucket { () throws(BucketError) in try bucket.pause(beforeRetrying: attempt) }
                attempt += 1
            case .taken: return nil
            }
        }
    }

    /// Whether a pack has, or is behind, a number.
    private func isPacked(_ number: UInt64, on bucket: some Bucket) throws(ReplicationError) -> Bool
    {
        try Pack.ranges(reaching: number, on: bucket).contains { $0.upperBound >= number }
    }
}
