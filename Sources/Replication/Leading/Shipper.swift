package import BlobStore
internal import Synchronization

/// Ships what a leader's store did: one segment after the other.
package struct Shipper {
    package enum Step: Sendable, Hashable {
        case shipped(sequence: UInt64, batchCount: Int, byteCount: Int)
        case nothing
        case unknown(String)
        case deposed(epoch: UInt64)
    }

    private let store: BlobStore
    private var writer: LogWriter
    private var pending: (sequence: UInt64, batchCount: Int, byteCount: Int)
    private var seen = SeenBlobs()
    package private(set) var hasEnded = false
    /// Payloads that the segment which was begun last uses again, and that neither the bucket nor this store has.
    package private(set) var lost: [BlobReference] = []
    /// The batches of that segment which refer to one of them.
    package private(set) var lostSequences: [UInt64] = []
    /// Payloads that were lost when a segment used them last: the next one that does is not held up for as long.
    private var knownAsLost: Set<UInt64> = []
    /// Whether the end of the epoch is being appended, or is in the log: it may be there already where nobody
    /// knows yet.
    package private(set) var isEnding = false

    package init(_ store: BlobStore, _ writer: LogWriter) {
        self.store = store
        self.writer = writer
        pending = (store.shippedSequence, 0, 0)
    }

    package var position: LogPosition { writer.position }

    /// Whether a segment was begun that may not be in the log yet.
    package var isPending: Bool { writer.isPending }

    /// What somebody else has written after this leader; nil: nothing. One request.
    func taken(on bucket: some Bucket) throws(ReplicationError) -> Segment.Head? {
        precondition(!isPending)
        let head = try Segment.read(position.number + 1, on: bucket)?.head
        try head?.require(of: store.id)
        return head
    }

    /// Does one step: ships what waits, up to a segment. With nothing to ship it appends an empty segment
    /// where it is asked to, or one that ends the epoch.
    package mutating func step(
        on bucket: some Bucket, asOf now: Timestamp, appendsEmpty: Bool, ends: Bool = false
    ) throws -> Step {
        if !isPending {
            let last = store.shippedSequence
            let (batches, usedAgain) = try seen.split(
                store.outbox(after: last, byteCountMax: ReplicationLimits.segmentByteCount),
                of: store, asOf: now)
            guard !batches.isEmpty || appendsEmpty || ends else { return .nothing }
            let items = try items(of: batches, on: bucket)
            // Whoever published their bytes again is told that the bucket has them.
            lost = try LongBlobs.restore(
                usedAgain, knownAsLost: knownAsLost, of: store, on: bucket
            ).lost
            let lostNumbers = Set(lost.map(\.number))
            knownAsLost.subtract(usedAgain.map(\.number))
            // Others are asked for several times again.
            if knownAsLost.count >= ReplicationLimits.seenBlobCountMax { knownAsLost = [] }
            knownAsLost.formUnion(lostNumbers)
            lostSequences =
                try lost.isEmpty
                ? []
                : batches.filter {
                    try !store.longBlobs(usedAgainBy: $0, where: lostNumbers.contains).isEmpty
                }.map(\.sequence)
            let found = usedAgain.filter { !lost.contains($0) }
            seen.note(batches.flatMap(\.longBlobs) + found, asOf: now)
            let byteCount = batches.reduce(0) { $0 + $1.byteCountWithBlobs }
            pending = (batches.last?.sequence ?? last, batches.count, byteCount)
            isEnding = batches.isEmpty && ends
            writer.begin(isEnding ? .end : .batches, items, sequence: last, asOf: now)
        }
        switch try writer.attempt(on: bucket) {
        case .appended(let position):
            store.noteShipped(
                pending.sequence, byteCount: pending.byteCount, at: position)
            hasEnded = isEnding
            return .shipped(
                sequence: pending.sequence, batchCount: pending.batchCount,
                byteCount: pending.byteCount)
        case .unknown(let why): return .unknown(why)
        case .taken(let head): return .deposed(epoch: head.epoch)
        }
    }

    /// The batches with what is shipped alongside them. Long blobs are uploaded first, once for all attempts.
    ///
    /// - Throws: the store's error where bytes are lost, when all that are lost have been looked at: the store says
    ///   so in their batches, and the next attempt ships those without them.
    private func items(
        of batches: [ReplicatedBatch], on bucket: some Bucket
    ) throws -> [Segment.Item] {
        let (store, loss) = (store, Loss())
        try LongBlobs.put(batches.flatMap(\.longBlobs), of: store.id, on: bucket) { blob in
            try loss.noting { try store.bytesToShip(of: blob) }
        }
        let items = try Segment.items(of: batches) { blob in
            try loss.noting {
                guard let bytes = try store.bytesToShip(of: blob) else {
                    throw StoreError.evicted(blob)
                }
                return bytes
            } ?? []
        }
        if let error = loss.error { throw error }
        return items
    }

    private final class Loss: Sendable {
        private let first = Mutex<(any Error)?>(nil)

        var error: (any Error)? { first.withLock { $0 } }

        func noting(_ body: () throws -> [UInt8]?) throws -> [UInt8]? {
            do { return try body() } catch StoreError.corrupt(let why) {
                first.withLock { $0 = $0 ?? StoreError.corrupt(why) }
                return nil
            }
        }
    }
}
