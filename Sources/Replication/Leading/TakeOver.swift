package import BlobStore

/// Takes the lead of a shard: all of the log, and a fence after it, with which an epoch begins.
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

    let storeID: StoreID
    /// What ``BlobStore/prepareToLead(nonce:asOf:)`` returned: the store knows by it what it created, however this
    /// ends.
    let nonce: Nonce
    let host: String
    /// Whether this run has tried it before, so that a fence with its nonce is its own. Copies of a folder may have the
    /// same.
    var hasTried = false

    /// Takes over. The store has all of the log then, and is not the leader yet: call `lead` next.
    ///
    /// - Parameters:
    ///   - deposes: whether also after what others write behind `log`. Otherwise the fence has the very next name, or
    ///     this gives up: somebody leads.
    ///   - log: after what this store has applied. It is moved on.
    ///   - epoch: that of the last segment of `log`; 0 before the first. Each fence has the next number.
    ///   - isLate: whether this took so long that the fence is put first: the leader goes on, and this store never has
    ///     all that it wrote.
    ///   - isOver: whether who asked for it may have been told that it failed: another fence is not put then, which might
    ///     depose a host that was promoted meanwhile.
    ///   - apply: does what a segment says; false: this store cannot, and does not take over.
    package func run(
        deposes: Bool, _ log: inout LogFollower, of epoch: UInt64, on bucket: some Bucket,
        sequence: () -> UInt64, asOf now: Timestamp, isLate: () -> Bool = { false },
        isOver: () -> Bool = { false }, apply: (Segment) throws -> Bool
    ) throws -> Outcome {
        var epoch = epoch
        func applied() throws -> Outcome? {
            var ahead = log
            // A name that is free may have been collected.
            while !isLate(), let segment = try ahead.next(on: bucket, looksForBase: true) {
                let found = segment.head
                if hasTried, found.kind == .fence, found.nonce == nonce {
                    // An earlier attempt's, whose answer was lost. Another one would say the same.
                    var beyond = ahead
                    if try beyond.next(on: bucket, looksForBase: true) == nil {
                        return .leads(LogWriter(after: segment))
                    }
                }
                guard deposes || found.nonce == nonce, try apply(segment) else {
                    return lost(to: segment, on: bucket)
                }
                (log, epoch) = (ahead, found.epoch)
            }
            return nil
        }
        while true {
            if let outcome = try applied() { return outcome }
            if isLate() {
                return try fenceFirst(
                    after: log.position, of: epoch, on: bucket, sequence: sequence(), asOf: now,
                    isOver: isOver)
            }
            let fence = fence(after: log.position, of: epoch, sequence: sequence(), asOf: now)
            switch try create(fence, on: bucket, isOver) {
            case .other(let found):
                guard !isOver() else { return lost(to: found, on: bucket) }
            case .unknown(let error): return .unknown(error)
            case .created:
                // The name may have been free because it had been collected.
                let error = try failure { () throws(ReplicationError) in
                    try Fence.require(fence, on: bucket)
                }
                return error.map { .unknown($0) } ?? .leads(LogWriter(after: fence))
            }
        }
    }

    /// What keeps from finding out what a fence in the log means, which can be tried again.
    private func failure(
        _ body: () throws(ReplicationError) -> Void
    ) throws(ReplicationError) -> ReplicationError? {
        do throws(ReplicationError) { try body() } catch {
            switch error {
            case .bucket, .stopped: return error
            default: throw error
            }
        }
        return nil
    }

    private func host(of epoch: UInt64, on bucket: some Bucket) -> String {
        AliveDocument.host(of: epoch, in: storeID, on: bucket)
    }

    private func lost(to other: Segment, on bucket: some Bucket) -> Outcome {
        .lost(epoch: other.head.epoch, host: host(of: other.head.epoch, on: bucket))
    }

    private static let askAttemptCount = 3
    private static let attemptCountMax = 500

    /// Puts the fence after what was written last, whether this store has all of that or not. Where the leader is quicker
    /// than the way to the bucket and back, it is asked to hand over.
    private func fenceFirst(
        after applied: LogPosition, of epoch: UInt64, on bucket: some Bucket, sequence: UInt64,
        asOf now: Timestamp, isOver: () -> Bool
    ) throws -> Outcome {
        var end = try LogEnd.find(after: applied, on: bucket)
        var isLast = true
        // Of what was listed, names before the oldest base may be collected at this moment, or were, and have void fences.
        if let oldest = try BaseManifest.numbers(on: bucket).first, applied.number < oldest {
            throw ReplicationError.tooOld(position: applied.number)
        }
        var asked: UInt64?
        // Nobody answers it after the fence, whoever asked.
        defer { if let asked { try? bucket.delete(ShardNames.handover(asked)) } }
        for attempt in 1...Self.attemptCountMax {
            if let end, end.head.kind == .fence {
                try Fence.require(end, on: bucket)
                if isLast, hasTried, end.head.nonce == nonce {
                    return .fenced(LogWriter(after: end), after: end.head.previous)
                }
            }
            let position = end?.position ?? applied
            let (epoch, last) = (end?.head.epoch ?? epoch, end?.head.sequence ?? sequence)
            let fence = fence(after: position, of: epoch, sequence: last, asOf: now)
            let other: Segment
            switch try create(fence, on: bucket, isOver) {
            case .unknown(let error): return .unknown(error)
            case .other(let found): other = found
            case .created:
                // A lost segment in the middle of the log looks like its end, and so does one that was collected.
                let error = try failure { () throws(ReplicationError) in
                    try Fence.require(fence, on: bucket)
                    guard try LogEnd.find(after: fence.position, on: bucket) == nil else {
                        throw .damaged(
                            name: ShardNames.log(fence.head.number),
                            why: "was missing, but later segments exist")
                    }
                }
                if let error { return .unknown(error) }
                let writer = LogWriter(after: fence)
                return position == applied ? .leads(writer) : .fenced(writer, after: position)
            }
            try other.require(of: storeID, after: position)
            guard !isOver() else { return lost(to: other, on: bucket) }
            (end, isLast) = (other, attempt >= Self.askAttemptCount)
            guard isLast else { continue }
            if asked == nil {
                asked = other.head.epoch
                let document = HandoverDocument(
                    storeID: storeID.description, epoch: other.head.epoch, host: host,
                    nonce: .random())
                _ = try? bucket.createUntilKnown(
                    ShardNames.handover(document.epoch), document.bytes,
                    byteCountMax: ReplicationLimits.handoverByteCountMax, attemptCountMax: 1)
            }
            // What the leader writes until it hands over is not passed name by name.
            end = try LogEnd.find(after: other.position, on: bucket) ?? other
        }
        let epoch = end?.head.epoch ?? epoch
        throw ReplicationError.deposed(epoch: epoch, leader: host(of: epoch, on: bucket))
    }

    private func fence(
        after position: LogPosition, of epoch: UInt64, sequence: UInt64, asOf now: Timestamp
    ) -> Segment {
        Segment(
            Segment.Head(
                kind: .fence, storeID: storeID, epoch: epoch + 1, nonce: nonce,
                previous: position, sequence: sequence, time: now))
    }

    private enum Creation {
        case created
        case other(Segment)
        /// It may be there, or get there.
        case unknown(ReplicationError)
    }

    private static let createAttemptCountMax = 3

    /// Creates a fence, or reads what is there instead. Whoever waits for it is told soon when the bucket takes nothing.
    ///
    /// - Throws: where it is not there, and will not be.
    private func create(
        _ fence: Segment, on bucket: some Bucket, _ isOver: () -> Bool
    ) throws(ReplicationError) -> Creation {
        let name = ShardNames.log(fence.head.number)
        var doubt: ReplicationError?
        do throws(ReplicationError) {
            for attempt in 0..<Self.createAttemptCountMax {
                if attempt > 0 {
                    guard !isOver() else { break }
                    try bucket.pause(beforeRetrying: attempt - 1)
                }
                switch try bucket.createOwn(
                    name, fence.bytes, byteCountMax: ReplicationLimits.segmentByteCountMax)
                {
                case .done: return .created
                case .unknown(let why): doubt = .bucket(why)
                case .other(let found):
                    do throws(DamagedObject) { return .other(try Segment(found)) } catch {
                        throw .damaged(name: name, why: error.description)
                    }
                }
            }
        } catch {
            guard let doubt else { throw error }
            return .unknown(doubt)
        }
        return .unknown(doubt ?? .bucket("\(name) cannot be created"))
    }
}
