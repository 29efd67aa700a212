internal import BlobStore

/// Leading: ships what was committed, says that it is alive, and hands over when it is asked to.
struct Leader {
    enum Outcome {
        case next(Replica.Step)
        /// Another store leads, and this one must be rebuilt.
        case mustRestart(why: String)
        /// This store follows now.
        case follows
    }

    private let store: BlobStore
    private let host: any ReplicaHost
    /// nil: it is yet to be found out whether this store leads still.
    private var shipper: Shipper?
    private var epoch: UInt64
    private var nextHeartbeat: Int64
    private var attempts = 0
    /// A lost answer is nothing to speak of; so many in a row are.
    private static let saidAttemptCount = 3
    /// Whether a follower has asked for the lead.
    private var isHandingOver = false

    /// - Parameter writer: behind the fence of this run, where it has taken the lead already.
    init(_ store: BlobStore, _ host: any ReplicaHost, _ writer: LogWriter? = nil) {
        self.store = store
        self.host = host
        shipper = writer.map { Shipper(store, $0) }
        epoch = store.replicationState?.epoch ?? 0
        nextHeartbeat = host.uptime
        host.noteLeader(host.settings.hostName)
        host.become(shipper == nil ? .leads : .ships(epoch: epoch))
    }

    mutating func step(on bucket: any Bucket) throws -> Outcome {
        guard var shipper else { return try begin(on: bucket) }
        defer { self.shipper = shipper }
        return try step(&shipper, on: bucket)
    }

    /// Finds out whether this store leads still, and what of it is in the log.
    private mutating func begin(on bucket: any Bucket) throws -> Outcome {
        guard let state = store.replicationState else { return .next(.again) }
        try ShardCheck.run(store, host, on: bucket)
        if case .deposed(let epoch, let leader) = try Resumption.run(store, state, on: bucket) {
            return try stepDown(because: leader, leads: epoch)
        }
        // A late request of the run before cannot come behind a fence, and nobody can take that run for this one.
        switch try takeOver(from: store.replicationState ?? state, on: bucket) {
        case .lost(let epoch, let leader): return try stepDown(because: leader, leads: epoch)
        case .leads(let epoch, let nonce, let fence):
            let now = host.now
            try host.write { (store) throws(StoreError) in
                try store.lead(
                    epoch: epoch, nonce: nonce, behind: fence, isFirst: false, asOf: now)
            }
            self.epoch = epoch
            shipper = Shipper(
                store, LogWriter(storeID: store.id, epoch: epoch, nonce: nonce, behind: fence))
            host.become(.ships(epoch: epoch))
            host.log(.notice, "Leading epoch \(epoch) of \(host.settings.shardName)")
        }
        return .next(.again)
    }

    /// Begins an epoch behind what this store has shipped.
    ///
    /// - Parameter before: the state of the run before.
    private func takeOver(
        from before: ReplicationState, on bucket: any Bucket
    ) throws -> TakeOver.Outcome {
        // The nonce first: an epoch that is created and not noted is known as this store's own by it.
        let nonce = Nonce.random()
        let now = host.now
        try host.write { (store) throws(StoreError) in
            try store.lead(
                epoch: before.epoch, nonce: nonce, behind: before.position, isFirst: false,
                asOf: now)
        }
        guard let state = store.replicationState else {
            throw ReplicaFailure(description: "the store belongs to no shard")
        }
        var log = LogFollower(storeID: store.id, behind: state.position)
        let takeOver = TakeOver(storeID: store.id, nonce: nonce, host: host.settings.hostName)
        return try takeOver.run(
            &log, on: bucket, sequence: { store.shippedSequence }, asOf: host.now
        ) { (segment) throws(ReplicationError) in
            // A late request of the run before.
            try Resumption.note(segment, of: store, before)
        }
    }

    private mutating func step(
        _ shipper: inout Shipper, on bucket: any Bucket
    ) throws -> Outcome {
        if host.hasWaiters || isHandingOver {
            // What they wait for can be shipped when it is committed.
            try host.write { (store) throws(StoreError) in try store.commitPending() }
        }
        let begun = host.uptime
        if !isHandingOver, host.isHandoverAsked(of: epoch) {
            host.log(.notice, "Handing over: no changes are taken until another daemon leads")
            host.become(.changes)
            isHandingOver = true
            return .next(.again)
        }
        switch try shipper.step(
            on: bucket, asOf: host.now, appendsEmpty: begun >= nextHeartbeat, ends: isHandingOver)
        {
        case .shipped:
            if attempts >= Self.saidAttemptCount { host.log(.notice, "The replication goes on") }
            attempts = 0
            nextHeartbeat = begun + Int64(ReplicationLimits.heartbeatMilliseconds)
            host.noteMoved(at: begun)
            host.complete(upTo: store.shippedSequence)
            if isHandingOver, shipper.hasEnded { return try handOver(on: bucket) }
            return .next(.again)
        case .unknown(let why):
            attempts += 1
            if attempts == 1 { host.log(.debug, "A segment is sent again: \(why)") }
            if attempts == Self.saidAttemptCount {
                host.log(.error, "The replication waits: \(why)")
            }
            try bucket.pause(beforeRetrying: attempts)
            return .next(.again)
        case .deposed(let epoch):
            let leader = (try? Epochs.newest(on: bucket))?.document.host ?? "another daemon"
            return try stepDown(because: leader, leads: epoch)
        case .nothing:
            return .next(.wait(milliseconds: Int(max(1, nextHeartbeat - begun + 1))))
        }
    }

    private func handOver(on bucket: any Bucket) throws -> Outcome {
        let isLogging = host.settings.isLogging
        host.become(.changes)
        try host.write { (store) throws(StoreError) in
            if isLogging { try store.endLogging() }
            try store.stepDown(to: .follower)
        }
        try? bucket.delete(ShardNames.handover(epoch))
        host.log(.notice, "Handed over: this daemon follows from now on")
        return .follows
    }

    /// Another store leads: saves what was not replicated, and follows.
    private func stepDown(because leader: String, leads epoch: UInt64) throws -> Outcome {
        host.become(.changes)
        host.failWaiters(
            "stored here, but \(leader) leads since epoch \(epoch): it is not replicated")
        let isLogging = host.settings.isLogging
        // Behind this no batch is applied here: each is refused before.
        try host.write { (store) throws(StoreError) in
            if isLogging { try store.endLogging() }
        }
        host.log(.warning, "\(leader) leads since epoch \(epoch): this daemon leads no more")
        let isSaved = try LostChanges.save(store, host)
        try host.write { (store) throws(StoreError) in
            try store.stepDown(to: isSaved ? .deposed : .follower)
        }
        guard isSaved else { return .follows }
        return .mustRestart(
            why: "\(leader) leads since epoch \(epoch): this store must be made anew")
    }
}
