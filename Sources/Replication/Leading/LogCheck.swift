internal import BlobStore

/// Reads the log after the newest base as it grows: what followers and restores need must be readable.
///
/// A GET for each name, 8 % of what its PUT costs at list prices. Others begin with that base, so what is before it is
/// not read again. It also says how much a restore reads after the base.
struct LogCheck {
    private let store: BlobStore
    private let epoch: UInt64
    private(set) var next: UInt64
    /// The last one that was read; nil: it was lost.
    private var last: LogPosition?
    /// Whether the next segment could not be read the last time.
    private(set) var isUnreadable = false
    private(set) var byteCount = 0

    init(_ store: BlobStore, epoch: UInt64, after position: LogPosition) {
        self.store = store
        self.epoch = epoch
        last = position
        next = position.number + 1
    }

    /// Whether a name is not known to have something else than its segment.
    func canRead(_ number: UInt64, on bucket: some Bucket) throws(ReplicationError) -> Bool {
        do throws(ReplicationError) {
            guard let segment = try Segment.read(number, on: bucket) else { return true }
            return continues(with: segment)
        } catch {
            if case .damaged = error { return false }
            throw error
        }
    }

    private func continues(with segment: Segment) -> Bool {
        segment.head.storeID == store.id && (last == nil || last == segment.head.previous)
    }

    /// Continues after a base, where what is before it cannot be read.
    mutating func skip(to base: LogPosition) {
        (next, last, isUnreadable) = (base.number + 1, base, false)
    }

    /// Leaves a segment out that the bucket has lost.
    mutating func skip(_ number: UInt64) {
        guard number == next else { return }
        next += 1
        last = nil
    }

    /// Reads some names.
    ///
    /// - Returns: how many.
    mutating func step(
        upTo position: LogPosition, on bucket: some Bucket
    ) throws(ReplicationError) -> Int {
        var count = 0
        while next <= position.number, count < ReplicationLimits.namesPerStep {
            isUnreadable = true
            let found = try Segment.read(next, on: bucket)
            isUnreadable = false
            guard let segment = found else {
                // Another leader may have made a base after it, and deleted it.
                try LeadCheck.require(epoch, of: store, on: bucket)
                throw .damaged(
                    name: ShardNames.log(next), why: "is missing, and no base is after it")
            }
            guard continues(with: segment), next < position.number || segment.position == position
            else { throw .forked(number: next) }
            byteCount += segment.bytes.count
            last = segment.position
            next += 1
            count += 1
        }
        isUnreadable = false
        return count
    }
}
