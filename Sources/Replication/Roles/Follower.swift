internal import BlobStore

/// Following: applies what a leader shipped, and takes the lead when it is asked to, or when nothing new has
/// come for too long.
struct Follower {
    /// What this process did before with the store.
    enum Past {
        case nothing
        case deposed
        case handedOver
        /// The request was withdrawn while it was granted.
        case handedOverToNobody
    }

    let store: BlobStore
    let host: any ReplicaHost
    let applier: SegmentApplier
    var log: LogFollower
    var lastSegment: Int64
    private var lastBaseLook: Int64
    var handover: HandoverRequest
    private var obstacle: Obstacle
    let ungiven: UngivenPayloads
    /// Whether nobody has led since this store did: then no other host has what it lacks.
    private var ledLast = false
    /// Whether it was said that it does not take the lead since it lacks payloads.
    private var hasSaidLack = false
    /// nil: its fence is not in the log, or surely is.
    var unanswered: UnansweredFence?
    /// Its fence that is in the log, until all before that is applied.
    var fence: OwnFence?
    /// Whether the last look at the log failed.
    private var isAway = false
    var nonce: Nonce?
    private var hasEnded = false
    /// How long nobody is seen to lead before this store takes the lead; nil: it does not.
    var claimsAfter: Int64?
    var watch: LeaderWatch
    private var hasCaughtUp = false

    init(_ store: BlobStore, _ host: any ReplicaHost, _ past: Past = .nothing) {
        self.store = store
        self.host = host
        handover = HandoverRequest(store, host)
        obstacle = Obstacle(store, host)
        watch = LeaderWatch(store, host)
        ungiven = UngivenPayloads(store, host)
        let now = host.uptime
        (lastSegment, lastBaseLook) = (now, now)
        // A host that led, or may begin a shard, leads where nobody else does: the one that it was handed over to
        // may have died, and so may the run of this store that was about to lead.
        switch past {
        case .nothing: claimsAfter = host.settings.mayBegin ? Self.claimMilliseconds : nil
        case .deposed: claimsAfter = Self.claimMilliseconds
        case .handedOver, .handedOverToNobody:
            claimsAfter = past == .handedOver ? Self.claimMilliseconds : 0
            // With the end that it wrote itself.
            (hasEnded, hasCaughtUp, ledLast) = (true, true, true)
        }
        applier = SegmentApplier(
            store, localByteCountMax: host.settings.localByteCountMax, writer: host)
        log = LogFollower(storeID: store.id, after: store.replicationState?.position ?? .start)
        host.become(.follows)
    }

    /// What it lacks although its steps succeed; nil: nothing.
    var problem: String? { ungiven.problem }

    static let claimMilliseconds = ReplicationLimits.leaderlessMilliseconds

    private var leader: String { watch.leader ?? AliveDocument.unknownHost }

    mutating func step(on bucket: any Bucket) throws -> Replica.Outcome {
        do {
            try ShardCheck.run(store, host, on: bucket)
            do {
                let outcome = try followingStep(on: bucket)
                obstacle.noteStep()
                return outcome
            } catch {
                // Of what it writes nothing is known, and all before it is applied.
                guard unanswered == nil else { throw error }
                throw try obstacle.meaning(of: error, at: log, on: bucket)
            }
        } catch let error as ReplicationError {
            switch error {
            case .tooOld, .forked:
                (fence?.request ?? unanswered?.request)?.refuse(Self.refusal(because: error))
                // Once: what follows may fail.
                fence?.request = nil
                unanswered?.request = nil
                // The next start rebuilds it.
                try host.write { (store) throws(StoreError) in try store.stepDown(to: .deposed) }
            default: break
            }
            throw error
        }
    }

    private mutating func followingStep(on bucket: any Bucket) throws -> Replica.Outcome {
        if let unanswered {
            guard host.uptime >= unanswered.end else {
                return try takeOver(unanswered.request, deposes: unanswered.deposes, on: bucket)
            }
            giveUp(unanswered)
        }
        let now = host.uptime
        if fence != nil { return try leadWhenApplied(on: bucket) }
        if let request = host.takePromotion() {
            if !request.isForced, let why = ungiven.refusal {
                sayRefused(why)
                request.refuse(why)
            } else if request.isForced || (hasEnded && !handover.isPending) {
                handover.giveUp("superseded by a later request with --force")
                return try takeOver(request, deposes: request.isForced, on: bucket)
            } else if handover.isPending {
                request.refuse("the leader \(leader) has already been asked to hand over")
            } else {
                handover.begin(request)
            }
        }
        // Only where the name should be there, or nobody says that it should not.
        let isQuiet =
            now - max(lastSegment, lastBaseLook) >= ReplicationLimits.lostNameLookMilliseconds
            && (watch.segment > log.position.number
                || watch.silentMilliseconds >= ReplicationLimits.lostNameLookMilliseconds)
        // While the bucket is away nobody is kept waiting for another answer of it.
        if isAway, handover.isLate { handover.giveUpLate(leader) }
        isAway = true
        let last: Segment.Head?
        do {
            last = try applyNext(on: bucket, looksForBase: isQuiet)
        } catch {
            watch.interrupt()
            if handover.isLate { handover.giveUpLate(leader) }
            throw error
        }
        isAway = false
        // One that failed is tried again: the name alone would say that there is nothing yet.
        if isQuiet { lastBaseLook = now }
        if handover.isLate, last?.kind != .end { handover.giveUpLate(leader, on: bucket) }
        handover.deleteWithdrawn(on: bucket)
        if let last {
            lastSegment = host.uptime
            watch.end()
            // A fence of this store's own: an earlier run took the lead and died before it knew.
            let isOwnFence =
                last.kind == .fence && store.replicationState?.isOwn(last.nonce) == true
            // What is new after all that was there comes from a leader that is alive.
            hasEnded = last.kind == .end
            (ledLast, hasSaidLack) = (isOwnFence, false)
            // Who asked for the lead may have died since. What was read of another leader may be long ago, and only
            // who may begin a shard takes the lead after that.
            let isArmed = hasEnded || isOwnFence || (host.settings.mayBegin && !hasCaughtUp)
            // Whoever has put a fence may die before it leads.
            if last.kind != .fence || isArmed {
                claimsAfter = isArmed ? Self.claimMilliseconds : nil
            } else if claimsAfter != nil {
                claimsAfter = Self.claimMilliseconds
            }
            handover.noteAnswer(of: last, by: leader)
        } else {
            hasCaughtUp = true
        }
        // What was applied since it was asked may lack some.
        if handover.isUnasked, let why = ungiven.refusal {
            sayRefused(why)
            handover.giveUp(why)
        }
        if handover.isGranted || (handover.isUnasked && hasEnded) {
            return try takeOver(handover.request, on: bucket)
        }
        if handover.isUnasked, hasCaughtUp {
            // That of the last segment, once all were applied.
            try handover.ask(leader, of: store.replicationState?.epoch ?? 0, on: bucket)
        }
        if last != nil {
            // One that is always a little behind knows who leads, too.
            if watch.leader == nil {
                try watch.look(at: now, applied: log.position.number, on: bucket)
            }
            return .next(.again)
        }
        try watch.look(at: now, applied: log.position.number, on: bucket)
        if let claimsAfter, try mayLead(after: claimsAfter, on: bucket) {
            host.log(
                .warning, "\(host.settings.shardName) has no leader: this daemon takes the lead")
            return try takeOver(handover.request, on: bucket)
        }
        if let after = host.settings.autoPromoteMilliseconds,
            try mayLead(after: Int64(after), on: bucket)
        {
            return try takeOver(handover.request, on: bucket)
        }
        return .next(.wait(milliseconds: ReplicationLimits.pollMilliseconds))
    }

    /// Whether nobody is seen to lead for so long, and this host may.
    private mutating func mayLead(
        after milliseconds: Int64, on bucket: any Bucket
    ) throws(ReplicationError) -> Bool {
        guard watch.silentMilliseconds >= milliseconds, isWhole() else { return false }
        return try watch.isSilent(
            for: milliseconds, applied: log.position.number, on: bucket)
    }

    /// Whether nothing that it lacks keeps it from taking the lead by itself. Says so where something does, once.
    private mutating func isWhole() -> Bool {
        guard !ledLast, let why = ungiven.refusal else { return true }
        if !hasSaidLack {
            host.log(
                .critical,
                "\(host.settings.shardName) has no leader, and this daemon does not take the lead: \(why)"
            )
        }
        hasSaidLack = true
        return false
    }

    /// Applies what is there after the last segment: several together, in one commit, where there are more.
    mutating func applyNext(
        on bucket: any Bucket, looksForBase: Bool
    ) throws -> Segment.Head? {
        var ahead = log
        let end = host.uptime + ReplicationLimits.readAheadMilliseconds
        guard let first = try ahead.next(on: bucket, looksForBase: looksForBase) else {
            log = ahead
            return nil
        }
        var foundAt = host.uptime
        var (last, items, byteCount) = (first, first.items, first.bytes.count)
        // One that comes alone does not wait for the answer that there is no other. What is wrong with the next one is
        // found again when these are applied.
        while ahead.isBehind, !obstacle.leavesPayloads, last.head.kind == .batches,
            byteCount < ReplicationLimits.appliedByteCount, host.uptime < end,
            let next = (try? ahead.peek(on: bucket, looksForBase: false)) ?? nil,
            next.head.kind == .batches, next.head.epoch == last.head.epoch,
            (try? ahead.next(on: bucket, looksForBase: false)) != nil
        {
            items += next.items
            byteCount += next.bytes.count
            last = next
            foundAt = host.uptime
        }
        var left: [UngivenBlob] = []
        let leaves = obstacle.leavesPayloads || ungiven.isKnown
        // Also where this fails: what the store has then is not applied again.
        defer { ungiven.note(left) }
        try applier.apply(
            items, of: last.head.epoch, at: last.position, on: bucket,
            leaving: leaves ? { left.append($0) } : nil)
        log = ahead
        noteApplied(last.head, foundAt: foundAt)
        return last.head
    }

    private mutating func noteApplied(_ head: Segment.Head, foundAt: Int64) {
        // Not when they were applied: the look for another one may have taken the bucket's whole time-out. One that has
        // more to read is as late as what it has read.
        let age = log.isBehind ? max(0, host.now.milliseconds - max(0, head.time.milliseconds)) : 0
        host.noteMoved(at: foundAt - age)
        host.complete(upTo: store.lastSequence)
        watch.note(head.epoch)
    }
}
