internal import BlobStore

/// Following: applies what a leader shipped, and takes the lead when it is asked to, or when nothing new has
/// come for too long.
struct Follower {
    private let store: BlobStore
    private let host: any ReplicaHost
    private let applier: SegmentApplier
    private var log: LogFollower
    private var lastSegment: Int64
    private var lastPackLook: Int64
    private var isBehind = false
    private var knownEpoch: UInt64 = 0
    private var leader = ""
    private var asked: (request: any PromotionRequest, end: Int64, epoch: UInt64)?
    /// The epoch whose leader was asked last. It may hand over after the request was given up.
    private var askedEpoch: UInt64?
    private var nonce: Nonce?
    private var hasEnded = false
    /// When this store takes the lead, unless somebody is seen to lead before that.
    private var claimsAt: Int64?
    private var hasCaughtUp = false

    init(_ store: BlobStore, _ host: any ReplicaHost, hasLed: Bool = false) {
        self.store = store
        self.host = host
        let now = host.uptime
        (lastSegment, lastPackLook) = (now, now)
        // A host that led, or may begin a shard, leads where nobody else does: the one that it was handed over to
        // may have died, and so may the run of this store that was about to lead.
        if hasLed || host.settings.mayBegin { claimsAt = Self.claim(at: now) }
        applier = SegmentApplier(
            store, localByteCountMax: host.settings.localByteCountMax, writer: host)
        log = LogFollower(storeID: store.id, after: store.replicationState?.position ?? .start)
        host.become(.follows)
    }

    private static func claim(at now: Int64) -> Int64 {
        now + 2 * Int64(ReplicationLimits.handoverMilliseconds)
    }

    mutating func step(on bucket: any Bucket) throws -> Replica.Outcome {
        try ShardCheck.run(store, host, on: bucket)
        do {
            return try followingStep(on: bucket)
        } catch let error as ReplicationError {
            switch error {
            case .tooOld, .forked:
                // The next start rebuilds it.
                try host.write { (store) throws(StoreError) in try store.stepDown(to: .deposed) }
            default: break
            }
            throw error
        }
    }

    private mutating func followingStep(on bucket: any Bucket) throws -> Replica.Outcome {
        let now = host.uptime
        if let request = host.takePromotion() {
            return try take(request, on: bucket, at: now)
        }
        let isQuiet =
            now - lastSegment >= Int64(ReplicationLimits.packLookMilliseconds)
            && now - lastPackLook >= Int64(ReplicationLimits.packLookMilliseconds)
        if isQuiet { lastPackLook = now }
        if let asked, now >= asked.end { endRequest(asked.epoch, on: bucket) }
        if let last = try applyNext(on: bucket, looksAtPacks: isQuiet) {
            lastSegment = host.uptime
            // A fence of this store's own: an earlier run took the lead and died before it knew.
            let isOwnFence =
                last.kind == .fence && store.replicationState?.isOwn(last.nonce) == true
            // What is new after all that was there comes from a leader that is alive.
            hasEnded = last.kind == .end
            // Who asked for the lead may have died since.
            let isArmed = hasEnded || isOwnFence || (claimsAt != nil && !hasCaughtUp)
            claimsAt = isArmed ? Self.claim(at: lastSegment) : nil
            if hasEnded, last.epoch == askedEpoch {
                // Until it has succeeded: nobody else was asked.
                claimsAt = lastSegment
                return try takeOver(takeAsked(), on: bucket)
            }
            return .next(.again)
        }
        hasCaughtUp = true
        if let claimsAt, now >= claimsAt {
            host.log(
                .warning, "\(host.settings.shardName) has no leader: this daemon takes the lead")
            return try takeOver(takeAsked(), on: bucket)
        }
        if let after = host.settings.autoPromoteMilliseconds, now - lastSegment >= Int64(after) {
            return try takeOver(takeAsked(), on: bucket)
        }
        return .next(.wait(milliseconds: ReplicationLimits.pollMilliseconds))
    }

    /// Applies what is there after the last segment: several together, in one commit, where there are more.
    private mutating func applyNext(
        on bucket: any Bucket, looksAtPacks: Bool
    ) throws -> Segment.Head? {
        var ahead = log
        guard let first = try ahead.next(on: bucket, looksAtPacks: looksAtPacks) else {
            isBehind = false
            return nil
        }
        var foundAt = host.uptime
        var (last, items, byteCount) = (first, first.items, first.bytes.count)
        // One that comes alone does not wait for the answer that there is no other.
        while isBehind, last.head.kind == .batches, byteCount < ReplicationLimits.appliedByteCount {
            var further = ahead
            // What is wrong with the next one is found again when these are applied.
            guard let next = (try? further.next(on: bucket, looksAtPacks: false)) ?? nil,
                next.head.kind == .batches, next.head.epoch == last.head.epoch
            else { break }
            ahead = further
            items += next.items
            byteCount += next.bytes.count
            last = next
            foundAt = host.uptime
        }
        isBehind = true
        try applier.apply(items, of: last.head.epoch, at: last.position, on: bucket)
        log = ahead
        try noteApplied(last.head, foundAt: foundAt, on: bucket)
        return last.head
    }

    private mutating func noteApplied(
        _ head: Segment.Head, foundAt: Int64, on bucket: any Bucket
    ) throws {
        // Not when they were applied: the look for another one may have taken the bucket's whole time-out.
        host.noteMoved(at: foundAt)
        host.complete(upTo: store.lastSequence)
        guard head.epoch != knownEpoch else { return }
        knownEpoch = head.epoch
        leader = Epochs.host(of: head.epoch, on: bucket)
        host.noteLeader(leader)
    }

    private mutating func endRequest(_ epoch: UInt64, on bucket: any Bucket) {
        let request = takeAsked()
        try? bucket.delete(ShardNames.handover(epoch))
        request?.refuse(
            "the leader \(leader) did not hand over within \(ReplicationLimits.handoverMilliseconds / 1_000) s; if it is gone for good, use --force"
        )
    }

    // MARK: - Taking the lead

    private mutating func take(
        _ request: any PromotionRequest, on bucket: any Bucket, at now: Int64
    ) throws -> Replica.Outcome {
        guard !request.isForced, !hasEnded else {
            takeAsked()?.refuse("superseded by a later request with --force")
            return try takeOver(request, on: bucket)
        }
        guard asked == nil else {
            request.refuse("the leader \(leader) has already been asked to hand over")
            return .next(.again)
        }
        let epoch: UInt64
        do {
            epoch = try leadersEpoch(on: bucket)
            let document = HandoverDocument(
                storeID: store.id.description, epoch: epoch, host: host.settings.hostName,
                nonce: .random())
            _ = try bucket.create(ShardNames.handover(epoch), document.bytes)
        } catch {
            request.refuse("cannot ask the leader: \(error)")
            throw error
        }
        asked = (request, now + Int64(ReplicationLimits.handoverMilliseconds), epoch)
        askedEpoch = epoch
        return .next(.again)
    }

    /// The epoch of who leads: that of the last segment, once all are applied. There may be a newer one that was created
    /// and in which nobody leads.
    private func leadersEpoch(on bucket: any Bucket) throws -> UInt64 {
        if hasCaughtUp, !isBehind, let state = store.replicationState { return state.epoch }
        return try Epochs.newest(on: bucket)?.number ?? 0
    }

    private mutating func takeAsked() -> (any PromotionRequest)? {
        defer { asked = nil }
        return asked?.request
    }

    private mutating func takeOver(
        _ request: (any PromotionRequest)?, on bucket: any Bucket
    ) throws -> Replica.Outcome {
        let (store, applier) = (store, applier)
        host.become(.changes)
        do {
            let nonce = try self.nonce ?? host.prepareToLead()
            self.nonce = nonce
            let outcome = try host.takeOver(
                store, nonce, &log, on: bucket, beginsLogging: host.settings.isLogging,
                sequence: { store.lastSequence }
            ) { segment in
                try applier.apply(segment, on: bucket)
                return true
            }
            switch outcome {
            case .lost(let epoch, let leader):
                host.become(.follows)
                lastSegment = host.uptime
                if claimsAt != nil { claimsAt = Self.claim(at: lastSegment) }
                request?.refuse("\(leader) took the lead in the meantime (epoch \(epoch))")
                return .next(.again)
            case .leads(let writer):
                request?.succeed(epoch: writer.epoch)
                return .leads(writer)
            }
        } catch {
            host.become(.follows)
            request?.refuse("cannot take the lead: \(error)")
            throw error
        }
    }
}
