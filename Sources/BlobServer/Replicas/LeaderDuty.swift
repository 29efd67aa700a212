import BlobStore
import Logging
import Replication
import Synchronization

/// Leading: ships what was committed, says that it is alive, and hands over when it is asked to.
struct LeaderDuty {
    enum Outcome {
        case goesOn(ReplicaRole.Step)
        /// Another store leads, and this one must be made anew.
        case deposed(host: String, epoch: UInt64)
        /// This store follows now.
        case handedOver
    }

    private let context: ReplicaThread.Context
    /// nil: it is yet to be found out whether this store leads still.
    private var shipper: Shipper?
    private var epoch: UInt64 = 0
    private var nextHeartbeat: Instant
    private var attempts = 0
    /// A lost answer is nothing to speak of; so many in a row are.
    private static let saidAttemptCount = 3
    /// Whether a follower has asked for the lead.
    private var isHandingOver = false

    /// - Parameter writer: behind the fence of this run, where it has taken the lead already.
    init(_ context: ReplicaThread.Context, _ writer: LogWriter? = nil) {
        self.context = context
        shipper = writer.map { Shipper(context.store, $0) }
        epoch = context.store.replicationState?.epoch ?? 0
        nextHeartbeat = .now
        context.replica.leader = context.replica.options.hostName
        context.replica.role = .leader
        if shipper != nil { context.replica.leadingEpoch.store(epoch, ordering: .releasing) }
    }

    /// Finds out whether this store leads still, and what of it is in the log.
    private mutating func begin(on bucket: any Bucket) throws -> Outcome {
        let store = context.store
        guard let state = store.replicationState else { return .goesOn(.again) }
        try ShardCheck.run(store, context.access, on: bucket)
        if case .deposed(let epoch, let host) = try Resumption.run(store, state, on: bucket) {
            return try Deposition.run(context, epoch: epoch, host: host)
                ? .handedOver : .deposed(host: host, epoch: epoch)
        }
        // A late request of the run before cannot come behind a fence, and nobody can take that run for this one.
        switch try takeOver(from: store.replicationState ?? state, on: bucket) {
        case .lost(let epoch, let host):
            return try Deposition.run(context, epoch: epoch, host: host)
                ? .handedOver : .deposed(host: host, epoch: epoch)
        case .leads(let epoch, let nonce, let fence):
            try context.writer.perform { (store) throws(StoreError) in
                try store.lead(
                    epoch: epoch, nonce: nonce, behind: fence, isFirst: false, asOf: .now)
            }
            self.epoch = epoch
            shipper = Shipper(
                store,
                LogWriter(storeID: store.id, epoch: epoch, nonce: nonce, behind: fence))
            context.replica.leadingEpoch.store(epoch, ordering: .releasing)
            context.log.notice("Leading epoch \(epoch) of \(context.access.name)")
        }
        return .goesOn(.again)
    }

    /// Begins an epoch behind what this store has shipped.
    ///
    /// - Parameter before: the state of the run before.
    private func takeOver(
        from before: ReplicationState, on bucket: any Bucket
    ) throws -> TakeOver.Outcome {
        // The nonce first: an epoch that is created and not noted is known as this store's own by it.
        let nonce = try context.writer.perform { (store) throws(StoreError) in
            try store.prepareToLead(nonce: .random(), asOf: .now)
        }
        let store = context.store
        guard let state = store.replicationState else {
            throw ReplicaFailure(description: "the store belongs to no shard")
        }
        var log = LogFollower(storeID: store.id, behind: state.position)
        let takeOver = TakeOver(
            storeID: store.id, nonce: nonce, host: context.replica.options.hostName)
        return try takeOver.run(
            &log, on: bucket, sequence: { store.shippedSequence }, asOf: .now
        ) { (segment) throws(ReplicationError) in
            // A late request of the run before.
            try Resumption.note(segment, of: store, before)
        }
    }

    mutating func step(on bucket: any Bucket) throws -> Outcome {
        guard var shipper else { return try begin(on: bucket) }
        defer { self.shipper = shipper }
        return try step(&shipper, on: bucket)
    }

    private mutating func step(
        _ shipper: inout Shipper, on bucket: any Bucket
    ) throws -> Outcome {
        if context.replica.hasWaiters || isHandingOver {
            // What they wait for can be shipped when it is committed.
            try context.writer.perform { (store) throws(StoreError) in try store.commitPending() }
        }
        let now = Instant.now
        if !isHandingOver, context.replica.handoverEpoch.load(ordering: .acquiring) == epoch {
            context.log.notice("Handing over: no changes are taken until another daemon leads")
            context.replica.role = .changing
            isHandingOver = true
            return .goesOn(.again)
        }
        let isDue = now >= nextHeartbeat
        switch try shipper.step(
            on: bucket, asOf: .now, appendsEmpty: isDue, ends: isHandingOver)
        {
        case .shipped:
            if attempts >= Self.saidAttemptCount { context.log.notice("The replication goes on") }
            attempts = 0
            nextHeartbeat = now.after(milliseconds: ReplicationLimits.heartbeatMilliseconds)
            context.replica.movedAt.store(now.nanoseconds, ordering: .relaxed)
            // Now, and not when there is something to ship no more. First whether changes are refused: who is
            // answered may send the next one at once.
            context.replica.look(at: context.store, asOf: .now)
            context.replica.complete(upTo: context.store.shippedSequence, asOf: .now)
            if isHandingOver, shipper.hasEnded { return try handOver(on: bucket) }
            return .goesOn(.again)
        case .unknown(let why):
            attempts += 1
            if attempts == 1 { context.log.debug("A segment is sent again: \(why)") }
            if attempts == Self.saidAttemptCount {
                context.log.error("The replication waits: \(why)")
            }
            try bucket.pause(beforeRetrying: attempts)
            return .goesOn(.again)
        case .deposed(let epoch):
            let host = (try? Epochs.newest(on: bucket))?.document.host ?? "another daemon"
            return try Deposition.run(context, epoch: epoch, host: host)
                ? .handedOver : .deposed(host: host, epoch: epoch)
        case .nothing:
            return .goesOn(.wait(milliseconds: max(1, nextHeartbeat.milliseconds(since: now) + 1)))
        }
    }

    private func handOver(on bucket: any Bucket) throws -> Outcome {
        let isLogging = context.isLogging
        context.replica.leadingEpoch.store(0, ordering: .releasing)
        try context.writer.perform { (store) throws(StoreError) in
            if isLogging { try store.endLogging() }
            try store.stepDown(to: .follower)
        }
        try? bucket.delete(ShardNames.handover(epoch))
        context.log.notice("Handed over: this daemon follows from now on")
        return .handedOver
    }
}
