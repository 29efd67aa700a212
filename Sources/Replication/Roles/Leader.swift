internal import BlobStore

/// Leading: ships what was committed, looks whether somebody else leads, and hands over when it is asked to.
struct Leader {
    let store: BlobStore
    let host: any ReplicaHost
    /// nil: whether this store still leads is not known yet.
    var shipper: Shipper?
    var epoch: UInt64
    private var nonce: Nonce?
    /// When the next name is looked for, unless one is created before. The log of an idle shard does not grow.
    var nextLook: Int64
    var attempts = 0
    /// Whether the last attempt to append did not get there, or nobody knows.
    var isTryingAgain: Bool { attempts > 0 }
    /// Why what it has to ship does not get there, when it was tried several times; nil: it does.
    var problem: String?
    var nextHandoverLook: Int64 = 0
    var isHandingOver = false
    /// Whether the shard is known to have a base: without one nothing of it can be restored.
    var hasBase = false
    var nextBaseLook: Int64 = 0
    /// Where its changes were saved when it was deposed, and up to which batch: the store may be unable to note that it
    /// is, on a full disk.
    private var saved: LostChanges.Saved?
    var isDeposed = false
    var met: ForeignFence?
    /// Who said, by force, that the host of that fence is gone.
    private var request: (any PromotionRequest)?
    /// After the fence of this run, where the store could not lead yet.
    private var unled: LogWriter?

    /// - Parameter writer: after the fence of this run, where it has taken the lead already.
    init(_ store: BlobStore, _ host: any ReplicaHost, _ writer: LogWriter? = nil) {
        self.store = store
        self.host = host
        shipper = writer.map { Shipper(store, $0) }
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
                    become(.leads)
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

    /// Says what this host does, and has its store refuse changes while it takes none: maintenance and announcements are
    /// made by threads that do not ask. From the next batch on none is applied.
    func become(_ activity: ReplicaActivity) {
        switch activity {
        case .leads, .ships: store.refusesChanges = false
        case .starts, .follows, .changes, .holds: store.refusesChanges = true
        }
        host.become(activity)
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
