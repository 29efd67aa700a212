package import BlobStore

/// Appends to the log of a shard: creates the next name, one at a time.
///
/// A name is never skipped. When an answer was lost the same bytes are sent again under the same name; where
/// the name is taken, what is there decides. So the first name that another leader took ends this one.
package struct LogWriter {
    package enum Outcome: Sendable {
        case appended(LogPosition)
        case unknown(String)
        /// Somebody else took the name: this leader is none any more.
        case taken(Segment.Head)
    }

    private let storeID: StoreID
    package let epoch: UInt64
    private let nonce: Nonce
    package private(set) var position: LogPosition
    private var pending: Segment?

    /// A writer of the epoch that begins with a fence, which is in the log.
    init(after fence: Segment) {
        self.init(
            storeID: fence.head.storeID, epoch: fence.head.epoch, nonce: fence.head.nonce,
            after: fence.position)
    }

    package init(
        storeID: StoreID, epoch: UInt64, nonce: Nonce, after position: LogPosition
    ) {
        self.storeID = storeID
        self.epoch = epoch
        self.nonce = nonce
        self.position = position
    }

    package var isPending: Bool { pending != nil }

    package mutating func begin(
        _ kind: Segment.Kind, _ items: [Segment.Item], sequence: UInt64, asOf now: Timestamp
    ) {
        precondition(pending == nil, "one name at a time")
        pending = Segment(
            Segment.Head(
                kind: kind, storeID: storeID, epoch: epoch, nonce: nonce, previous: position,
                sequence: items.last?.batch.sequence ?? sequence, time: now), items)
    }

    package mutating func attempt(on bucket: some Bucket) throws(ReplicationError) -> Outcome {
        guard let segment = pending else { preconditionFailure("nothing is pending") }
        let name = ShardNames.log(segment.head.number)
        let outcome = try bucket.createOwn(
            name, segment.bytes, byteCountMax: ReplicationLimits.segmentByteCountMax)
        switch outcome {
        case .done: return confirm(segment)
        case .unknown(let why): return .unknown(why)
        case .other(let found):
            let head: Segment.Head
            do throws(DamagedObject) { head = try Segment(found).head } catch {
                throw .damaged(name: name, why: error.description)
            }
            try head.require(of: storeID)
            return .taken(head)
        }
    }

    private mutating func confirm(_ segment: Segment) -> Outcome {
        pending = nil
        position = segment.position
        return .appended(segment.position)
    }
}
