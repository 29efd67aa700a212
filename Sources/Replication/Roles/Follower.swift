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

    /// A request for the lead.
    private struct Asked {
        let request: any PromotionRequest
        let end: Int64
        /// What the leader was asked; nil: it will be when this host has applied all that is there, since the leader
        /// takes no changes until then.
        var document: HandoverDocument?
        /// Whether the leader has ended its epoch since.
        var isGranted = false
    }

    private let store: BlobStore
    private let host: any ReplicaHost
    private let applier: SegmentApplier
    private var log: LogFollower
    private var lastSegment: Int64
    private var lastPackLook: Int64
    private var knownEpoch: UInt64 = 0
    private var leader = ""
    private var asked: Asked?
    /// What may be in the bucket still of a request that was given up.
    private var withdrawn: HandoverDocument?
    /// For whom this store takes the lead, and whether by force, while its fence may be in the log: what is refused never
    /// comes true.
    private var taking: (request: (any PromotionRequest)?, deposes: Bool)?
    /// The fence of this store that is in the log, until all before it is applied.
    private var fenced: (writer: LogWriter, after: LogPosition, request: (any PromotionRequest)?)?
    /// Whether the last look at the log failed.
    private var isAway = false
    private var nonce: Nonce?
    private var hasEnded = false
    /// How long nobody is seen to lead before this store takes the lead; nil: it does not.
    private var claimsAfter: Int64?
    private var silence = Silence()
    private var nextAliveLook: Int64 = 0
    /// How far the log is, as the leader said last.
    private var leadersSegment: UInt64 = 0
    private var hasCaughtUp = false
    /// How often the next segment was found damaged, and since when.
    private var damaged: (number: UInt64, lookCount: Int, since: Int64) = (0, 0, 0)

    init(_ store: BlobStore, _ host: any ReplicaHost, _ past: Past = .nothing) {
        self.store = store
        self.host = host
        let now = host.uptime
        (lastSegment, lastPackLook) = (now, now)
        // A host that led, or may begin a shard, leads where nobody else does: the one that it was handed over to
        // may have died, and so may the run of this store that was about to lead.
        switch past {
        case .nothing: claimsAfter = host.settings.mayBegin ? Self.claimMilliseconds : nil
        case .deposed: claimsAfter = Self.claimMilliseconds
        case .handedOver, .handedOverToNobody:
            claimsAfter = past == .handedOver ? Self.claimMilliseconds : 0
            // With the end that it wrote itself.
            (hasEnded, hasCaughtUp) = (true, true)
        }
        applier = SegmentApplier(
            store, localByteCountMax: host.settings.localByteCountMax, writer: host)
        log = LogFollower(storeID: store.id, after: store.replicationState?.position ?? .start)
        host.become(.follows)
    }

    /// How often it is tried to ask the leader, where the answer is lost.
    private static let askingCountMax = 2

    private static let claimMilliseconds = 2 * Int64(ReplicationLimits.handoverMilliseconds)

    mutating func step(on bucket: any Bucket) throws -> Replica.Outcome {
        try ShardCheck.run(store, host, on: bucket)
        do {
            do { return try followingStep(on: bucket) } catch let error as ReplicationError {
                throw try steppedOver(error, on: bucket)
            }
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

    /// What a damaged object of the log means: where there is a base after it, this store is rebuilt from that, as where
    /// it is missing. Not before several looks: it may have been the answer that was damaged.
    private mutating func steppedOver(
        _ error: ReplicationError, on bucket: any Bucket
    ) throws(ReplicationError) -> ReplicationError {
        guard case .damaged(let name, _) = error,
            name.hasPrefix(ShardNames.logPrefix) || name.hasPrefix(ShardNames.packPrefix)
        else { return error }
        let number = log.position.number + 1
        if damaged.number != number { damaged = (number, 0, host.uptime) }
        damaged.lookCount += 1
        guard damaged.lookCount >= ReplicationLimits.lostSegmentLookCount,
            host.uptime - damaged.since >= ReplicationLimits.lostSegmentMilliseconds,
            let newest = try BaseManifest.newestReadable(from: number, on: bucket)?.position.number
        else { return error }
        host.log(.warning, "\(error): continuing from the base after segment \(newest)")
        return .tooOld(position: log.position.number)
    }

    private mutating func followingStep(on bucket: any Bucket) throws -> Replica.Outcome {
        if let taking {
            return try takeOver(taking.request, deposes: taking.deposes, on: bucket)
        }
        let now = host.uptime
        if fenced != nil { return try leadWhenApplied(on: bucket) }
        if let request = host.takePromotion() {
            if request.isForced || (hasEnded && asked == nil) {
                giveUp("superseded by a later request with --force")
                return try takeOver(request, deposes: request.isForced, on: bucket)
            }
            if asked == nil {
                asked = Asked(
                    request: request, end: now + Int64(ReplicationLimits.handoverMilliseconds))
            } else {
                request.refuse("the leader \(leader) has already been asked to hand over")
            }
        }
        // Only where the name should be there, or nobody says that it should not.
        let isQuiet =
            now - max(lastSegment, lastPackLook) >= Int64(ReplicationLimits.packLookMilliseconds)
            && (leadersSegment > log.position.number
                || silence.milliseconds >= Int64(ReplicationLimits.packLookMilliseconds))
        if isQuiet { lastPackLook = now }
        // While the bucket is away nobody is kept waiting for another answer of it.
        if isAway, isLate { giveUp(lateness) }
        isAway = true
        let last: Segment.Head?
        do {
            last = try applyNext(on: bucket, looksAtPacks: isQuiet)
        } catch {
            silence.interrupt()
            if isLate { giveUp(lateness) }
            throw error
        }
        isAway = false
        if isLate, last?.kind != .end { giveUp(lateness, on: bucket) }
        deleteWithdrawn(on: bucket)
        if let last {
            lastSegment = host.uptime
            silence.end()
            // A fence of this store's own: an earlier run took the lead and died before it knew.
            let isOwnFence =
                last.kind == .fence && store.replicationState?.isOwn(last.nonce) == true
            // What is new after all that was there comes from a leader that is alive.
            hasEnded = last.kind == .end
            // Who asked for the lead may have died since. What was read of another leader may be long ago, and only
            // who may begin a shard takes the lead after that.
            let isArmed = hasEnded || isOwnFence || (host.settings.mayBegin && !hasCaughtUp)
            claimsAfter = isArmed ? Self.claimMilliseconds : nil
            noteAnswer(of: last)
        } else {
            hasCaughtUp = true
        }
        if let asked {
            if asked.isGranted || (asked.document == nil && hasEnded) {
                return try takeOver(asked.request, on: bucket)
            }
            if asked.document == nil, hasCaughtUp { try askLeader(on: bucket) }
        }
        if last != nil { return .next(.again) }
        try lookForLeader(at: now, on: bucket)
        if let claimsAfter, try isSilent(for: claimsAfter, on: bucket) {
            host.log(
                .warning, "\(host.settings.shardName) has no leader: this daemon takes the lead")
            return try takeOver(asked?.request, on: bucket)
        }
        if let after = host.settings.autoPromoteMilliseconds,
            try isSilent(for: Int64(after), on: bucket)
        {
            return try takeOver(asked?.request, on: bucket)
        }
        return .next(.wait(milliseconds: ReplicationLimits.pollMilliseconds))
    }

    /// Whether nobody is seen to lead for so long, and now. Whoever takes the lead then looks at the log once more.
    private mutating func isSilent(
        for milliseconds: Int64, on bucket: any Bucket
    ) throws(ReplicationError) -> Bool {
        guard silence.milliseconds >= milliseconds else { return false }
        nextAliveLook = 0
        try lookForLeader(at: host.uptime, on: bucket)
        return silence.milliseconds >= milliseconds && silence.isWatched
    }

    /// Looks whether the leader is alive, now and then.
    private mutating func lookForLeader(
        at now: Int64, on bucket: any Bucket
    ) throws(ReplicationError) {
        guard now >= nextAliveLook, let epoch = store.replicationState?.epoch else { return }
        let pause = min(
            ReplicationLimits.aliveLookMilliseconds,
            (host.settings.autoPromoteMilliseconds ?? .max) / 4)
        nextAliveLook = now + Int64(pause)
        let begun = host.uptime
        do throws(ReplicationError) {
            let found = try AliveDocument.read(epoch, of: store.id.description, on: bucket)
            guard silence.note(found, begunAt: begun, at: host.uptime), let found else { return }
            leadersSegment = found.segment
            if found.segment <= log.position.number { host.noteMoved(at: now) }
        } catch {
            // Neither a bucket that is away nor what a proxy says is silence.
            silence.interrupt()
            guard case .damaged = error else { throw error }
        }
    }

    /// Applies what is there after the last segment: several together, in one commit, where there are more.
    private mutating func applyNext(
        on bucket: any Bucket, looksAtPacks: Bool
    ) throws -> Segment.Head? {
        var ahead = log
        let end = host.uptime + ReplicationLimits.readAheadMilliseconds
        guard let first = try ahead.next(on: bucket, looksAtPacks: looksAtPacks) else {
            log = ahead
            return nil
        }
        var foundAt = host.uptime
        var (last, items, byteCount) = (first, first.items, first.bytes.count)
        // One that comes alone does not wait for the answer that there is no other. What is wrong with the next one is
        // found again when these are applied.
        while ahead.isBehind, last.head.kind == .batches,
            byteCount < ReplicationLimits.appliedByteCount, host.uptime < end,
            let next = (try? ahead.peek(on: bucket, looksAtPacks: false)) ?? nil,
            next.head.kind == .batches, next.head.epoch == last.head.epoch,
            (try? ahead.next(on: bucket, looksAtPacks: false)) != nil
        {
            items += next.items
            byteCount += next.bytes.count
            last = next
            foundAt = host.uptime
        }
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

    // MARK: - Requests to hand over

    private mutating func askLeader(on bucket: any Bucket) throws {
        do {
            guard let document = try ask(on: bucket) else {
                return giveUp("another host has already asked the leader \(leader) to hand over")
            }
            asked?.document = document
        } catch {
            giveUp("cannot ask the leader: \(error)")
            throw error
        }
    }

    /// Asks the leader to hand over.
    ///
    /// - Returns: the request that is in the bucket; nil: another host has asked before.
    private mutating func ask(on bucket: any Bucket) throws -> HandoverDocument? {
        let document = HandoverDocument(
            storeID: store.id.description, epoch: try leadersEpoch(on: bucket),
            host: host.settings.hostName, nonce: .random())
        let name = ShardNames.handover(document.epoch)
        // Unless it is known what is there: it may get there late.
        withdrawn = document
        let other = try bucket.createUntilKnown(
            name, document.bytes, byteCountMax: ReplicationLimits.handoverByteCountMax,
            attemptCountMax: Self.askingCountMax)
        withdrawn = nil
        guard let other else { return document }
        do throws(DamagedObject) {
            let found = try HandoverDocument(other)
            // This host asked, and was started again.
            return found.host == document.host ? found : nil
        } catch {
            throw ReplicationError.damaged(name: name, why: error.description)
        }
    }

    /// Notes what a segment says to the request to hand over.
    private mutating func noteAnswer(of segment: Segment.Head) {
        guard let document = asked?.document else { return }
        if segment.epoch == document.epoch {
            asked?.isGranted = segment.kind == .end
        } else if segment.epoch > document.epoch {
            giveUp("\(leader) took the lead in the meantime (epoch \(segment.epoch))")
        }
    }

    private var isLate: Bool { asked.map { host.uptime >= $0.end } ?? false }

    private var lateness: String {
        let limit = "within \(ReplicationLimits.handoverMilliseconds / 1_000) s"
        return asked?.document == nil
            ? "this daemon did not apply all changes of the leader \(leader) \(limit): see its log"
            : "the leader \(leader) did not hand over \(limit); if it is gone for good, use --force"
    }

    /// Refuses the request to hand over. From here on this host does not take the lead by it, also where the leader still
    /// grants it.
    private mutating func giveUp(_ why: String, on bucket: (any Bucket)? = nil) {
        guard let asked else { return }
        withdrawn = asked.document ?? withdrawn
        self.asked = nil
        if let bucket { deleteWithdrawn(on: bucket) }
        asked.request.refuse(why)
    }

    /// The epoch of who leads: that of the last segment, once all were applied. There may be a newer one that was created
    /// and in which nobody leads: by a host that another one was quicker than.
    private func leadersEpoch(on bucket: any Bucket) throws -> UInt64 {
        if hasCaughtUp, let state = store.replicationState { return state.epoch }
        return try Epochs.newest(on: bucket)?.number ?? 0
    }

    /// Deletes a request that was given up, as soon as the bucket is there.
    private mutating func deleteWithdrawn(on bucket: any Bucket) {
        guard let document = withdrawn else { return }
        do throws(ReplicationError) {
            let found = try HandoverDocument.read(document.epoch, of: store.id, on: bucket)
            // Another host's, where an earlier answer was lost.
            if found == document { try bucket.delete(ShardNames.handover(document.epoch)) }
            withdrawn = nil
        } catch {
            if case .bucket(_, isLasting: true) = error { withdrawn = nil }
        }
    }

    // MARK: - Taking the lead

    /// - Parameter deposes: whether also from a leader that is seen to be alive.
    private mutating func takeOver(
        _ request: (any PromotionRequest)?, deposes: Bool = false, on bucket: any Bucket
    ) throws -> Replica.Outcome {
        let (store, applier) = (store, applier)
        host.become(.changes)
        do {
            let nonce = try self.nonce ?? host.prepareToLead()
            self.nonce = nonce
            let end = host.uptime + ReplicationLimits.applyBeforeFenceMilliseconds
            let outcome = try host.takeOver(
                store, nonce, deposes: deposes, &log, on: bucket,
                beginsLogging: host.settings.isLogging, sequence: { store.lastSequence },
                isLate: { [host] in deposes && host.uptime >= end }
            ) { segment in
                try applier.apply(segment, on: bucket)
                return true
            }
            switch outcome {
            case .lost(let epoch, let leader):
                host.become(.follows)
                lastSegment = host.uptime
                silence.end()
                if claimsAfter != nil { claimsAfter = Self.claimMilliseconds }
                withdrawn = asked?.document ?? withdrawn
                (asked, taking) = (nil, nil)
                request?.refuse("\(leader) took the lead in the meantime (epoch \(epoch))")
                return .next(.again)
            case .leads(let writer):
                request?.succeed(epoch: writer.epoch)
                return .leads(writer)
            case .fenced(let writer, let position):
                host.log(
                    .notice,
                    "Taking the lead: no other daemon can add to the log after segment \(position.number); applying \(position.number - log.position.number) segments before it"
                )
                host.become(.holds(epoch: writer.epoch))
                fenced = (writer, position, request)
                (asked, taking) = (nil, nil)
                return .next(.again)
            case .unknown(let error):
                asked = nil
                taking = (request, deposes)
                throw error
            }
        } catch {
            host.become(.follows)
            // It is tried again until it is known, or the request is given up.
            if taking == nil, asked == nil { request?.refuse("cannot take the lead: \(error)") }
            throw error
        }
    }

    /// Applies what lies before the fence of this store, and leads then.
    private mutating func leadWhenApplied(on bucket: any Bucket) throws -> Replica.Outcome {
        guard let fenced, let nonce else { return .next(.again) }
        host.takePromotion()?.refuse("this daemon is taking the lead already")
        if log.position.number < fenced.after.number {
            guard try applyNext(on: bucket, looksAtPacks: true) != nil else {
                throw ReplicationError.damaged(
                    name: ShardNames.log(log.position.number + 1), why: "is missing")
            }
            return .next(.again)
        }
        guard log.position == fenced.after else {
            throw ReplicationError.forked(number: fenced.writer.position.number)
        }
        try host.lead(fenced.writer, nonce, beginsLogging: host.settings.isLogging)
        fenced.request?.succeed(epoch: fenced.writer.epoch)
        return .leads(fenced.writer)
    }
}
