import BlobProtocol
import BlobStore
import Logging
import Replication
import Synchronization

/// Following: applies what a leader shipped, and takes the lead when it is asked to, or when nothing new has
/// come for too long.
struct FollowerDuty {
    enum Outcome {
        case goesOn(ReplicaRole.Step)
        /// This store leads now, and writes the log with this.
        case leads(LogWriter)
    }

    private let context: ReplicaThread.Context
    private let applier: SegmentApplier
    private var log: LogFollower
    /// When the last segment was found.
    private var lastSegment = Instant.now
    private var lastPackLook = Instant.now
    /// Whether the last look found a segment: there may be more that are waiting.
    private var isBehind = false
    private var knownEpoch: UInt64 = 0
    /// The request for the lead that a leader was told of, and until when it may take.
    private var asked: (request: ReplicaStatus.Promotion, end: Instant, epoch: UInt64)?
    /// Whether the leader has ended its epoch.
    private var hasEnded = false
    /// When this store takes the lead again where nobody did that it was handed over to.
    private var reclaimsAt: Instant?

    /// - Parameter hasHandedOver: whether this store led until now.
    init(_ context: ReplicaThread.Context, hasHandedOver: Bool = false) {
        self.context = context
        if hasHandedOver {
            reclaimsAt = Instant.now.after(milliseconds: 2 * DaemonLimits.handoverMilliseconds)
        }
        let writer = context.writer
        applier = SegmentApplier(
            context.store, localByteCountMax: context.replica.options.localByteCountMax
        ) { body throws(StoreError) in try writer.perform(body) }
        log = LogFollower(
            storeID: context.store.id,
            behind: context.store.replicationState?.position ?? .start)
        context.replica.role = .follower
    }

    mutating func step(on bucket: any Bucket) throws -> Outcome {
        try ShardCheck.run(context.store, context.access, on: bucket)
        do {
            return try followingStep(on: bucket)
        } catch let error as ReplicationError {
            switch error {
            case .tooOld, .forked:
                // The next start makes it anew.
                try context.writer.perform { (store) throws(StoreError) in
                    try store.stepDown(to: .deposed)
                }
            default: break
            }
            throw error
        }
    }

    private mutating func followingStep(on bucket: any Bucket) throws -> Outcome {
        let now = Instant.now
        if let request = context.replica.takePromotion() {
            return try take(request, on: bucket, asOf: now)
        }
        let isQuiet =
            now.milliseconds(since: lastSegment) >= ReplicationLimits.packLookMilliseconds
            && now.milliseconds(since: lastPackLook) >= ReplicationLimits.packLookMilliseconds
        if isQuiet { lastPackLook = now }
        if let asked, now >= asked.end { endRequest(asked.epoch, on: bucket) }
        if let last = try applyNext(on: bucket, looksAtPacks: isQuiet) {
            lastSegment = .now
            reclaimsAt = nil
            hasEnded = last.kind == .end
            if hasEnded, let request = takeAsked() { return try takeOver(request, on: bucket) }
            return .goesOn(.again)
        }
        if let reclaimsAt, now >= reclaimsAt {
            context.log.warning("Nobody has taken the lead: this daemon takes it again")
            self.reclaimsAt = nil
            return try takeOver(takeAsked(), on: bucket)
        }
        if mayPromoteItself(asOf: now) { return try takeOver(takeAsked(), on: bucket) }
        return .goesOn(.wait(milliseconds: ReplicationLimits.pollMilliseconds))
    }

    /// Applies what is there behind the last segment: several together, in one commit, where there are more.
    ///
    /// - Returns: the head of the last one; nil where there is none.
    private mutating func applyNext(
        on bucket: any Bucket, looksAtPacks: Bool
    ) throws -> Segment.Head? {
        let before = log
        guard case .segment(let first) = try log.peek(on: bucket, looksAtPacks: looksAtPacks) else {
            isBehind = false
            return nil
        }
        log.accept()
        var foundAt = Instant.now
        var (last, items, byteCount) = (first, first.items, first.bytes.count)
        // One that comes alone does not wait for the answer that there is no other.
        while isBehind, last.head.kind == .batches, byteCount < ReplicationLimits.appliedByteCount,
            // What is wrong with it is found again when these are applied.
            case .segment(let next)? = try? log.peek(on: bucket, looksAtPacks: false),
            next.head.kind == .batches, next.head.epoch == last.head.epoch
        {
            log.accept()
            items += next.items
            byteCount += next.bytes.count
            last = next
            foundAt = .now
        }
        isBehind = true
        do {
            try applier.apply(items, of: last.head.epoch, at: last.position, on: bucket)
        } catch {
            log = before
            throw error
        }
        try noteApplied(last.head, foundAt: foundAt, on: bucket)
        return last.head
    }

    private mutating func noteApplied(
        _ head: Segment.Head, foundAt: Instant, on bucket: any Bucket
    ) throws {
        // Not when they were applied: the look for another one may have taken the bucket's whole time-out.
        context.replica.movedAt.store(foundAt.nanoseconds, ordering: .relaxed)
        context.replica.complete(upTo: context.store.lastSequence, asOf: .now)
        guard head.epoch != knownEpoch else { return }
        knownEpoch = head.epoch
        if let newest = try Epochs.newest(on: bucket) {
            context.replica.leader = newest.document.host
        }
    }

    /// Tells who asked for the lead that the leader did not give it.
    private mutating func endRequest(_ epoch: UInt64, on bucket: any Bucket) {
        let request = takeAsked()
        try? bucket.delete(ShardNames.handover(epoch))
        request?.refuse(
            "the leader \(context.replica.leader) did not hand over within \(DaemonLimits.handoverMilliseconds / 1_000) s; where it is gone for good: --force"
        )
    }

    private func mayPromoteItself(asOf now: Instant) -> Bool {
        guard let after = context.replica.options.autoPromoteMilliseconds else { return false }
        return now.milliseconds(since: lastSegment) >= after
    }

    // MARK: - Taking the lead

    private mutating func take(
        _ request: ReplicaStatus.Promotion, on bucket: any Bucket, asOf now: Instant
    ) throws -> Outcome {
        guard !request.isForced, !hasEnded else { return try takeOver(request, on: bucket) }
        let epoch: UInt64
        do {
            epoch = try Epochs.newest(on: bucket)?.number ?? 0
            _ = try bucket.create(
                ShardNames.handover(epoch), Array(context.replica.options.hostName.utf8))
        } catch {
            request.refuse("cannot ask the leader: \(error)")
            throw error
        }
        asked = (request, now.after(milliseconds: DaemonLimits.handoverMilliseconds), epoch)
        return .goesOn(.again)
    }

    /// The request that the leader was told of; nil: there is none.
    private mutating func takeAsked() -> ReplicaStatus.Promotion? {
        defer { asked = nil }
        return asked?.request
    }

    /// Takes the lead.
    ///
    /// - Parameter request: who asked for it, and is told; nil: nobody.
    private mutating func takeOver(
        _ request: ReplicaStatus.Promotion?, on bucket: any Bucket
    ) throws -> Outcome {
        let (context, applier) = (context, applier)
        context.replica.role = .changing
        do {
            let takeOver = TakeOver(
                storeID: context.store.id, nonce: .random(),
                host: context.replica.options.hostName)
            let outcome = try takeOver.run(
                &log, on: bucket, sequence: { context.store.lastSequence }, asOf: .now
            ) { (segment) throws(ReplicationError) in try applier.apply(segment, on: bucket) }
            switch outcome {
            case .lost(let epoch, let host):
                context.replica.role = .follower
                lastSegment = .now
                request?.refuse("\(host) took the lead meanwhile (epoch \(epoch))")
                return .goesOn(.again)
            case .leads(let epoch, let nonce, let fence):
                let isLogging = context.isLogging
                try context.writer.perform { (store) throws(StoreError) in
                    try store.lead(
                        epoch: epoch, nonce: nonce, behind: fence, isFirst: false, asOf: .now)
                    if isLogging { try? store.beginLogging() }
                }
                context.log.notice("Leading epoch \(epoch) of \(context.access.name)")
                // Who asks next is told of the new leader.
                context.replica.leader = context.replica.options.hostName
                context.replica.role = .leader
                request?.connection.post(.replicated(.promoted(epoch: epoch)))
                return .leads(
                    LogWriter(
                        storeID: context.store.id, epoch: epoch, nonce: nonce, behind: fence))
            }
        } catch {
            context.replica.role = .follower
            request?.refuse("cannot take the lead: \(error)")
            throw error
        }
    }
}
