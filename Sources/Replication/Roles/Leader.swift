internal import BlobStore

/// Leading: ships what was committed, looks whether somebody else leads, and hands over when it is asked to.
struct Leader {
    private let store: BlobStore
    private let host: any ReplicaHost
    /// nil: whether this store still leads is not known yet.
    private var shipper: Shipper?
    private var epoch: UInt64
    /// Whether no other copy of this store gives the revisions that this run gives.
    private var hasOwnRevisions: Bool
    private var nonce: Nonce?
    /// When the next name is looked for, unless one is created before. The log of an idle shard does not grow.
    private var nextLook: Int64
    private var attempts = 0
    /// Whether the last attempt to append did not get there, or nobody knows.
    var isTryingAgain: Bool { attempts > 0 }
    /// Why what it has to ship does not get there, when it was tried several times; nil: it does.
    private(set) var problem: String?
    /// One lost answer is not worth a line in the log; so many in a row are.
    private static let saidAttemptCount = 3
    private var nextHandoverLook: Int64 = 0
    private var isHandingOver = false
    /// Whether the shard is known to have a base: without one nothing of it can be restored.
    private var hasBase = false
    private var nextBaseLook: Int64 = 0
    /// Where its changes were saved when it was deposed, and up to which batch: the store may be unable to note that it
    /// is, on a full disk.
    private var saved: LostChanges.Saved?
    private var isDeposed = false
    private var met: ForeignFence?
    /// Who said, by force, that the host of that fence is gone.
    private var request: (any PromotionRequest)?
    /// After the fence of this run, where the store could not lead yet.
    private var unled: LogWriter?

    /// - Parameter writer: after the fence of this run, where it has taken the lead already.
    init(_ store: BlobStore, _ host: any ReplicaHost, _ writer: LogWriter? = nil) {
        self.store = store
        self.host = host
        shipper = writer.map { Shipper(store, $0) }
        hasOwnRevisions = writer != nil
        epoch = store.replicationState?.epoch ?? 0
        nextLook = host.uptime
        host.noteLeader(host.settings.hostName)
        host.become(shipper == nil ? .starts : .ships(epoch: epoch))
    }

    /// The last batch that survives the loss of this host.
    var replicatedSequence: UInt64 { hasBase ? store.shippedSequence : 0 }

    mutating func step(on bucket: any Bucket) throws -> Replica.Outcome {
        if let new = host.takePromotion() {
            if new.isForced, met != nil, !isDeposed, request == nil {
                request = new
            } else {
                new.refuse(met?.problem ?? "this daemon already leads")
            }
        }
        if shipper == nil {
            do { return try begin(on: bucket) } catch {
                // Its fence may be in the log.
                refuse("cannot take the lead yet: \(error). See blobd replicas for who leads")
                // Without the bucket changes are still taken, as `local`. Should this store have been copied
                // or replaced, they are saved and reported when the log can be read.
                if met != nil {
                    become(.changes)
                } else if error as? ReplicationError != .stopped, !isDeposed {
                    leadUnconfirmed()
                }
                throw error
            }
        }
        guard var shipper else { return .next(.again) }
        defer { if self.shipper != nil { self.shipper = shipper } }
        return try step(&shipper, on: bucket)
    }

    // MARK: - Beginning

    /// Finds out whether this store still leads, and what of it is in the log, and begins an epoch after
    /// that: a late request of an earlier run cannot get after the fence, and nobody takes that run for this
    /// one.
    private mutating func begin(on bucket: any Bucket) throws -> Replica.Outcome {
        try ShardCheck.run(store, host, on: bucket)
        if let unled {
            if try Segment.read(unled.position.number + 1, on: bucket) == nil {
                return try lead(unled)
            }
            // Its fence is found in the log below, and what is behind that.
            self.unled = nil
        }
        let (store, now) = (store, host.uptime)
        switch try Resumption.run(
            store, on: bucket, noting: { met = met ?? ForeignFence(at: now) })
        {
        case .leads: (met, problem) = (nil, nil)
        case .fenced(let epoch, let beats):
            note(fence: epoch, beats: beats)
            let rest = ReplicationLimits.leaderlessMilliseconds - (met?.silence(at: now) ?? 0)
            guard rest <= 0 || request != nil, !isDeposed else {
                let pause = ReplicationLimits.handoverLookMilliseconds
                return .next(.wait(milliseconds: rest <= 0 ? pause : min(Int(rest), pause)))
            }
        case .deposed(let epoch, let leader): return try stepDown(because: leader, leads: epoch)
        }
        guard let state = store.replicationState else {
            throw ReplicaFailure(description: "the store belongs to no shard")
        }
        var log = LogFollower(storeID: store.id, after: state.position)
        let hasTried = self.nonce != nil
        let nonce = try self.nonce ?? host.prepareToLead()
        self.nonce = nonce
        let abandoned = met?.epoch ?? 0
        let outcome: TakeOver.Outcome
        do {
            outcome = try host.takeOver(
                store, nonce, hasTried: hasTried, deposes: true, &log, on: bucket,
                sequence: { store.shippedSequence }
            ) { segment in
                if segment.head.kind == .fence, segment.head.epoch <= abandoned { return true }
                // A late request of an earlier run.
                return try Resumption.note(segment, of: store)
            }
        } catch let error as ReplicationError {
            guard
                case .deposed(let epoch, let leader) = try Resumption.outcome(
                    of: error, of: store, on: bucket)
            else { throw error }
            return try stepDown(because: leader, leads: epoch)
        }
        switch outcome {
        // Its next step finds out what that means.
        case .lost: return .next(.again)
        case .unknown(let error): throw error
        case .leads(let writer), .fenced(let writer, _):
            if met != nil {
                host.log(.notice, "Nobody leads epoch \(abandoned): this daemon begins another one")
            }
            unled = writer
            return try lead(writer)
        }
    }

    /// Leads after a fence of this run. Where the store cannot, it is tried again: another fence would change nothing.
    private mutating func lead(_ writer: LogWriter) throws -> Replica.Outcome {
        guard let nonce else { preconditionFailure("a fence has a nonce") }
        try host.lead(writer, nonce, beginsLogging: false)
        (unled, met, problem) = (nil, nil, nil)
        request?.succeed(epoch: writer.epoch)
        request = nil
        epoch = writer.epoch
        hasOwnRevisions = true
        shipper = Shipper(store, writer)
        return .next(.again)
    }

    private mutating func refuse(_ why: String) {
        request?.refuse(why)
        request = nil
    }

    /// Takes no changes while another host may lead.
    private mutating func note(fence epoch: UInt64, beats: UInt64?) {
        var met = met ?? ForeignFence(at: host.uptime)
        if met.note(epoch, beats: beats, at: host.uptime) {
            host.log(.warning, "Replication waits: \(met.problem)")
            become(.changes)
        }
        problem = met.problem
        self.met = met
    }

    /// Takes changes before it is known whether this store still leads.
    private mutating func leadUnconfirmed() {
        if !hasOwnRevisions { store.leadUnconfirmed() }
        hasOwnRevisions = true
        become(.leads)
    }

    /// Says what this host does, and has its store refuse changes while it takes none: maintenance and announcements are
    /// made by threads that do not ask. From the next batch on none is applied.
    private func become(_ activity: ReplicaActivity) {
        switch activity {
        case .leads, .ships: store.refusesChanges = false
        case .starts, .follows, .changes, .holds: store.refusesChanges = true
        }
        host.become(activity)
    }

    // MARK: - Shipping

    private mutating func step(
        _ shipper: inout Shipper, on bucket: any Bucket
    ) throws -> Replica.Outcome {
        // Until the store has stepped down: a full disk may keep it from that.
        if shipper.hasEnded { return try handOver(on: bucket) }
        let wasHandingOver = isHandingOver
        if host.hasWaiters || wasHandingOver {
            // What they wait for can be shipped when it is committed. After the first of these no change is taken
            // while this daemon hands over.
            try host.write { (store) throws(StoreError) in try store.commitPending() }
        }
        let begun = host.uptime
        if host.hasWaiters, begun >= nextBaseLook { lookForBase(on: bucket, at: begun) }
        let isAllShipped = store.shippedSequence == store.lastSequence
        // Before the epoch ends, too. The follower may have given up meanwhile: nobody would lead. Once its end may
        // be in the log there is no way back: a host that finds it takes the lead, without what was changed here since.
        // Nor is there one from being deposed, which a full disk may keep the store from noting.
        if !isDeposed, !shipper.isEnding,
            begun >= nextHandoverLook || (wasHandingOver && isAllShipped)
        {
            try lookForHandover(on: bucket)
        }
        // One that is sent again may be in the log already, from before they asked.
        let isAwaited = shipper.isPending ? false : host.beginSegment()
        switch try shipper.step(
            on: bucket, asOf: host.now, appendsEmpty: isAwaited,
            ends: wasHandingOver && isHandingOver && isAllShipped)
        {
        case .shipped:
            if attempts >= Self.saidAttemptCount { host.log(.notice, "Replication continues") }
            (attempts, problem) = (0, nil)
            nextLook = begun + Int64(ReplicationLimits.beatMilliseconds)
            host.noteMoved(at: begun)
            host.noteSegmentAppended()
            sayLost(shipper.lost, in: shipper.lostSequences)
            host.complete(upTo: replicatedSequence)
            return shipper.hasEnded ? try handOver(on: bucket) : .next(.again)
        case .unknown(let why):
            attempts += 1
            if attempts == 1 { host.log(.debug, "Sending a segment again: \(why)") }
            if attempts == Self.saidAttemptCount {
                host.log(.error, "Replication is paused: \(why)")
            }
            if attempts >= Self.saidAttemptCount { problem = "replication is paused: \(why)" }
            try bucket.pause(beforeRetrying: attempts)
            return .next(.again)
        case .deposed:
            giveUpShipping()
            return .next(.again)
        case .nothing where isHandingOver: return .next(.again)
        case .nothing:
            if begun >= nextLook {
                if try shipper.taken(on: bucket) != nil {
                    giveUpShipping()
                    return .next(.again)
                }
                nextLook = begun + Int64(ReplicationLimits.beatMilliseconds)
            }
            let next = min(
                nextLook, nextHandoverLook, hasBase || !host.hasWaiters ? .max : nextBaseLook)
            return .next(.wait(milliseconds: Int(max(1, next - begun + 1))))
        }
    }

    /// What was shipped is in the bucket, and of no use: the payload that it refers to is nowhere.
    private func sayLost(_ lost: [BlobReference], in sequences: [UInt64]) {
        guard let first = lost.first else { return }
        for blob in lost {
            host.log(
                .critical,
                "The bytes of \(blob.digest) are neither in the bucket nor on this host, and a notification refers to them: publish the payload itself again"
            )
        }
        host.refuseWaiters(
            "stored here, but not replicated: the bytes of \(first.digest) are neither in the bucket nor on this host",
            of: sequences)
    }

    private mutating func lookForBase(on bucket: any Bucket, at now: Int64) {
        // Shipping finds out what is wrong with the bucket.
        guard let bases = try? BaseManifest.numbers(on: bucket) else { return }
        hasBase = !bases.isEmpty
        if !hasBase, nextBaseLook == 0 {
            host.log(
                .notice,
                "Changes are acknowledged as replicated when the first base is in the bucket")
        }
        nextBaseLook =
            now
            + (hasBase
                ? ReplicationLimits.lostBaseLookMilliseconds
                : ReplicationLimits.baseLookMilliseconds)
    }

    /// Somebody else has the next name. What that means is found out from the log, and no change is taken until then.
    private mutating func giveUpShipping() {
        (shipper, met) = (nil, ForeignFence(at: host.uptime))
        (isHandingOver, nextHandoverLook) = (false, 0)
        become(.changes)
    }

    // MARK: - Handing over

    private mutating func lookForHandover(on bucket: any Bucket) throws {
        let begun = host.uptime
        var isAsked = isHandingOver
        do throws(ReplicationError) {
            isAsked = try HandoverDocument.read(epoch, of: store.id, on: bucket) != nil
        } catch {
            // What is no request does not count as one; shipping finds out what is wrong with the bucket.
            if error == .stopped { throw error }
            if case .damaged = error { isAsked = false }
            host.log(.debug, "Cannot read requests to hand over: \(error)")
        }
        // A slow bucket is not slowed down further.
        let pause = max(
            Int64(ReplicationLimits.handoverLookMilliseconds), 10 * (host.uptime - begun))
        nextHandoverLook = host.uptime + pause
        guard isAsked != isHandingOver else { return }
        isHandingOver = isAsked
        if isAsked {
            host.log(.notice, "Handing over: changes are refused until another daemon leads")
            become(.holds(epoch: epoch))
        } else {
            host.log(
                .notice, "The request to hand over was withdrawn: this daemon continues to lead")
            become(.ships(epoch: epoch))
        }
    }

    private func handOver(on bucket: any Bucket) throws -> Replica.Outcome {
        let isLogging = host.settings.isLogging
        become(.changes)
        try host.write { (store) throws(StoreError) in
            if isLogging { try store.endLogging() }
            try store.stepDown(to: .follower)
        }
        let request = Result { try HandoverDocument.read(epoch, of: store.id, on: bucket) }
        let isWithdrawn = if case .success(nil) = request { true } else { false }
        try? bucket.delete(ShardNames.handover(epoch))
        host.log(.notice, "Handed over: this daemon is now a follower")
        // Whoever has withdrawn it does not take the lead.
        return .follows(isWithdrawn ? .handedOverToNobody : .handedOver)
    }

    // MARK: - Stepping down

    private mutating func stepDown(
        because leader: String, leads epoch: UInt64
    ) throws -> Replica.Outcome {
        isDeposed = true
        become(.changes)
        refuse("\(leader) has led since epoch \(epoch)")
        host.failWaiters(
            "stored here, but \(leader) has led since epoch \(epoch): it is not replicated")
        let isLogging = host.settings.isLogging
        // After this no batch is applied here: each is refused before.
        try host.write { (store) throws(StoreError) in
            if isLogging { try store.endLogging() }
        }
        host.log(
            .warning, "\(leader) has led since epoch \(epoch): this daemon is no longer the leader")
        if saved?.sequence != store.lastSequence { saved = try LostChanges.save(store, host) }
        let isSaved = saved != nil
        try host.write { (store) throws(StoreError) in
            try store.stepDown(to: isSaved ? .deposed : .follower)
        }
        guard isSaved else { return .follows(.deposed) }
        return .next(
            .mustRestart(
                why:
                    "\(leader) has led since epoch \(epoch), and this store must be rebuilt from the bucket"
            ))
    }
}

extension ReplicaHost {
    /// Makes the store know what it is about to create in the bucket, before that is created.
    func prepareToLead() throws(StoreError) -> Nonce {
        let (nonce, now) = (Nonce.random(), now)
        return try write { (store) throws(StoreError) in
            try store.prepareToLead(nonce: nonce, asOf: now)
        }
    }

    /// Puts a fence for a store, which leads when it has all before that.
    func takeOver(
        _ store: BlobStore, _ nonce: Nonce, hasTried: Bool, deposes: Bool,
        _ log: inout LogFollower, on bucket: any Bucket, sequence: () -> UInt64,
        isLate: () -> Bool = { false }, isOver: () -> Bool = { false },
        apply: (Segment) throws -> Bool
    ) throws -> TakeOver.Outcome {
        try TakeOver(
            storeID: store.id, nonce: nonce, host: settings.hostName, hasTried: hasTried
        ).run(
            deposes: deposes, &log, of: store.replicationState?.epoch ?? 0, on: bucket,
            sequence: sequence, asOf: now, isLate: isLate, isOver: isOver, apply: apply)
    }

    /// Makes the store lead, when it has all before its fence.
    func lead(_ writer: LogWriter, _ nonce: Nonce, beginsLogging: Bool) throws(StoreError) {
        let now = now
        try write { (store) throws(StoreError) in
            try store.lead(
                epoch: writer.epoch, nonce: nonce, after: writer.position, isFirst: false,
                asOf: now)
            if beginsLogging { try? store.beginLogging() }
        }
        self.log(.notice, "Leading epoch \(writer.epoch) of \(settings.shardName)")
        noteLeader(settings.hostName)
        become(.ships(epoch: writer.epoch))
    }
}
