package import BlobStore

/// Takes the lead of a shard: a new epoch, all of the log, and a fence after it.
///
/// The leader before has one name in flight at the most, and skips none. So the first name that is free is the
/// one that it would write next; once the fence has it, nothing of that leader can follow.
package struct TakeOver {
    package enum Outcome: Sendable {
        case leads(LogWriter)
        /// Its fence is in the log, after a segment that this store has not applied yet: it leads when it has.
        case fenced(LogWriter, after: LogPosition)
        case lost(epoch: UInt64, host: String)
        /// The fence may be in the log, or get there: take over again, until that is known.
        case unknown(any Error)
    }

    private static let epochAttemptCountMax = 3

    let storeID: StoreID
    /// What ``BlobStore/prepareToLead(nonce:asOf:)`` returned: the store knows by it what it created, however this
    /// ends.
    let nonce: Nonce
    let host: String

    /// Takes over. The store has all of the log then, and is not the leader yet: call `lead` next.
    ///
    /// - Parameters:
    ///   - deposes: whether also after what others write behind `log`. Otherwise the fence has the very next name, or
    ///     this gives up: somebody leads.
    ///   - log: after what this store has applied. It is moved on.
    ///   - knownEpoch: the highest epoch that this store has seen: the new one is higher.
    ///   - isLate: whether this took so long that the fence is put first: the leader goes on, and this store never has
    ///     all that it wrote.
    ///   - apply: does what a segment says; false: this store cannot, and does not take over.
    package func run(
        deposes: Bool, _ log: inout LogFollower, knownEpoch: UInt64, on bucket: some Bucket,
        sequence: () -> UInt64, asOf now: Timestamp, isLate: () -> Bool = { false },
        apply: (Segment) throws -> Bool
    ) throws -> Outcome {
        func lost() throws -> Outcome? {
            var ahead = log
            // A name that is free may have been collected.
            while !isLate(), let segment = try ahead.next(on: bucket, looksForBase: true) {
                let found = segment.head.epoch
                guard deposes || segment.head.nonce == nonce, found <= epoch, try apply(segment)
                else { return .lost(epoch: found, host: Epochs.host(of: found, on: bucket)) }
                log = ahead
            }
            return nil
        }
        // Before it leaves an epoch in which nobody leads.
        var epoch = UInt64.max
        if !deposes, let lost = try lost() { return lost }
        epoch = try createEpoch(above: knownEpoch, on: bucket, asOf: now)
        while true {
            if let lost = try lost() { return lost }
            if isLate() {
                do {
                    return try fenceFirst(
                        after: log.position, epoch, on: bucket, sequence: sequence(), asOf: now)
                } catch let error as ReplicationError {
                    guard case .bucket = error else { throw error }
                    return .unknown(error)
                }
            }
            let fence = fence(of: epoch, after: log.position, sequence: sequence(), asOf: now)
            // The place of the fence decides alone. A store that has created a newer epoch finds this fence.
            do throws(ReplicationError) {
                guard try create(fence, on: bucket) == nil else { continue }
                // The name may have been free because it had been collected.
                try Fence.require(fence, on: bucket)
            } catch {
                if case .tooOld = error { throw error }
                return .unknown(error)
            }
            return .leads(
                LogWriter(storeID: storeID, epoch: epoch, nonce: nonce, after: fence.position))
        }
    }

    private static let askAttemptCount = 3
    private static let attemptCountMax = 500

    /// Puts the fence after what was written last, whether this store has all of that or not. Where the leader is quicker
    /// than the way to the bucket and back, it is asked to hand over.
    private func fenceFirst(
        after applied: LogPosition, _ epoch: UInt64, on bucket: some Bucket, sequence: UInt64,
        asOf now: Timestamp
    ) throws -> Outcome {
        let end = try LogEnd.find(after: applied, on: bucket)
        // Of what was listed, names before the oldest base may be collected at this moment, or were, and have void fences.
        if let oldest = try BaseManifest.numbers(on: bucket).first, applied.number < oldest {
            throw ReplicationError.tooOld(position: applied.number)
        }
        var (position, last) = (end?.position ?? applied, end?.head.sequence ?? sequence)
        var head = end?.head
        var asked: UInt64?
        // Nobody answers it after the fence, whoever asked.
        defer { if let asked { try? bucket.delete(ShardNames.handover(asked)) } }
        for attempt in 1...Self.attemptCountMax {
            if let head, head.epoch > epoch {
                return .lost(epoch: head.epoch, host: Epochs.host(of: head.epoch, on: bucket))
            }
            let fence = fence(of: epoch, after: position, sequence: last, asOf: now)
            guard let other = try other(than: fence, on: bucket) else {
                // A lost segment in the middle of the log looks like its end, and so does one that was collected.
                try Fence.require(fence, on: bucket)
                guard try LogEnd.find(after: fence.position, on: bucket) == nil else {
                    throw ReplicationError.damaged(
                        name: ShardNames.log(fence.head.number),
                        why: "was missing, but later segments exist")
                }
                let writer = LogWriter(
                    storeID: storeID, epoch: epoch, nonce: nonce, after: fence.position)
                return position == applied ? .leads(writer) : .fenced(writer, after: position)
            }
            try other.require(of: storeID, after: position)
            if other.head.kind == .fence { try Fence.require(other, on: bucket) }
            (position, last, head) = (other.position, other.head.sequence, other.head)
            guard attempt == Self.askAttemptCount else { continue }
            let document = HandoverDocument(
                storeID: storeID.description, epoch: other.head.epoch, host: host, nonce: .random())
            asked = document.epoch
            _ = try? bucket.createUntilKnown(
                ShardNames.handover(document.epoch), document.bytes,
                byteCountMax: ReplicationLimits.handoverByteCountMax, attemptCountMax: 1)
        }
        throw ReplicationError.deposed(
            epoch: head?.epoch ?? 0, leader: Epochs.host(of: head?.epoch ?? 0, on: bucket))
    }

    private func fence(
        of epoch: UInt64, after position: LogPosition, sequence: UInt64, asOf now: Timestamp
    ) -> Segment {
        Segment(
            Segment.Head(
                kind: .fence, storeID: storeID, epoch: epoch, nonce: nonce, previous: position,
                sequence: sequence, time: now))
    }

    /// Creates a fence, or reads what is there instead.
    private func other(
        than fence: Segment, on bucket: some Bucket
    ) throws(ReplicationError) -> Segment? {
        guard let found = try create(fence, on: bucket) else { return nil }
        do throws(DamagedObject) { return try Segment(found) } catch {
            throw .damaged(name: ShardNames.log(fence.head.number), why: error.description)
        }
    }

    private func create(
        _ fence: Segment, on bucket: some Bucket
    ) throws(ReplicationError) -> [UInt8]? {
        try bucket.createUntilKnown(
            ShardNames.log(fence.head.number), fence.bytes,
            byteCountMax: ReplicationLimits.segmentByteCountMax)
    }

    private func createEpoch(
        above known: UInt64, on bucket: some Bucket, asOf now: Timestamp
    ) throws(ReplicationError) -> UInt64 {
        let document = EpochDocument(
            storeID: storeID.description, nonce: nonce, host: host, time: now)
        var taken = known
        var attempt = 0
        while true {
            taken = max(taken, try Epochs.newestNumber(on: bucket) ?? 0)
            // Also where a listing does not show the one that is there.
            taken += 1
            // Whoever waits for this is told when the bucket is away. An epoch that got there all the same deposes nobody.
            if try Epochs.create(
                taken, document, on: bucket, attemptCountMax: Self.epochAttemptCountMax)
            {
                return taken
            }
            try bucket.pause(beforeRetrying: attempt)
            attempt += 1
        }
    }
}
