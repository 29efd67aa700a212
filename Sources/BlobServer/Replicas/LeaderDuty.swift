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
    private var nextLook: Instant
    private var attempts = 0
    private var hasBase = false
    /// Whether a follower has asked for the lead.
    private var isHandingOver = false

    init(_ context: ReplicaThread.Context) {
        self.context = context
        nextHeartbeat = .now
        nextLook = .now
        context.replica.leader = context.replica.options.hostName
        context.replica.role = .leader
    }

    private mutating func writeFirstBase(_ shipper: inout Shipper, on bucket: any Bucket) throws {
        guard try Seeder.bases(on: bucket).isEmpty else {
            hasBase = true
            return
        }
        let writer = BaseWriter(context.store)
        let manifest = try writer.upload(
            behind: shipper.position, of: epoch, uploadsAllBlobs: true, asOf: .now, on: bucket)
        while context.store.shippedSequence < manifest.sequence {
            _ = try shipper.step(on: bucket, asOf: .now, appendsEmpty: false)
        }
        try writer.finish(manifest, on: bucket)
        hasBase = true
    }

    /// Finds out whether this store leads still, and what of it is in the log.
    private mutating func begin(on bucket: any Bucket) throws -> Outcome {
        let store = context.store
        guard let state = store.replicationState else { return .goesOn(.again) }
        try ShardCheck.run(store, context.access, on: bucket)
        if case .deposed(let epoch, let host, _) = try Resumption.run(store, state, on: bucket) {
            return try Deposition.run(context, epoch: epoch, host: host)
                ? .handedOver : .deposed(host: host, epoch: epoch)
        }
        guard let now = store.replicationState else { return .goesOn(.again) }
        // Another run of this leader cannot be taken for this one.
        let nonce = Nonce.random()
        try context.writer.perform { (store) throws(StoreError) in
            try store.lead(
                epoch: now.epoch, nonce: nonce, behind: now.position, isFirst: false, asOf: .now)
        }
        epoch = now.epoch
        shipper = Shipper(
            store,
            LogWriter(storeID: store.id, epoch: epoch, nonce: nonce, behind: now.position))
        context.log.notice("Leading epoch \(epoch) of \(context.access.name)")
        return .goesOn(.again)
    }

    mutating func step(on bucket: any Bucket) throws -> Outcome {
        guard var shipper else { return try begin(on: bucket) }
        defer { self.shipper = shipper }
        if !hasBase { try writeFirstBase(&shipper, on: bucket) }
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
        let isDue = now >= nextHeartbeat
        switch try shipper.step(
            on: bucket, asOf: .now, appendsEmpty: isDue, ends: isHandingOver)
        {
        case .shipped:
            attempts = 0
            nextHeartbeat = now.after(milliseconds: ReplicationLimits.heartbeatMilliseconds)
            context.replica.movedAt.store(now.nanoseconds, ordering: .relaxed)
            // Now, and not when there is something to ship no more.
            context.replica.complete(upTo: context.store.shippedSequence, asOf: now)
            if isHandingOver, shipper.hasEnded { return try handOver(on: bucket) }
            return .goesOn(.again)
        case .unknown(let why):
            if attempts == 0 { context.log.debug("A segment is sent again: \(why)") }
            attempts += 1
            try bucket.pause(beforeRetrying: attempts)
            return .goesOn(.again)
        case .deposed(let epoch):
            let host = (try? Epochs.newest(on: bucket))?.document.host ?? "another daemon"
            return try Deposition.run(context, epoch: epoch, host: host)
                ? .handedOver : .deposed(host: host, epoch: epoch)
        case .nothing:
            if now >= nextLook {
                nextLook = now.after(milliseconds: ReplicationLimits.handoverLookMilliseconds)
                try lookForHandover(on: bucket)
                if isHandingOver { return .goesOn(.again) }
            }
            let next = min(nextHeartbeat, nextLook)
            return .goesOn(.wait(milliseconds: max(1, next.milliseconds(since: now) + 1)))
        }
    }

    private mutating func lookForHandover(on bucket: any Bucket) throws {
        guard try bucket.get(ShardNames.handover(epoch), byteCountMax: 65_536) != nil else {
            return
        }
        context.log.notice("Handing over: no changes are taken until another daemon leads")
        context.replica.role = .changing
        isHandingOver = true
    }

    private func handOver(on bucket: any Bucket) throws -> Outcome {
        let isLogging = context.isLogging
        try context.writer.perform { (store) throws(StoreError) in
            if isLogging { try store.endLogging() }
            try store.stepDown(to: .follower)
        }
        try? bucket.delete(ShardNames.handover(epoch))
        context.log.notice("Handed over: this daemon follows from now on")
        return .handedOver
    }
}
