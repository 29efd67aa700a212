import BlobStore
import Replication
import TestSupport

/// What a thread of the daemon does, one step at a time.
final class HostTask {
    let name: String
    /// When the next step is due.
    var due: Int64 = 0
    var isRunning = false
    /// Whether others may act between its snapshots: it takes no lock of the store.
    let isInterruptible: Bool
    /// Does a step.
    ///
    /// - Returns: milliseconds until the next one.
    let step: (Host) throws -> Int

    init(
        _ name: String, isInterruptible: Bool = false, _ step: @escaping (Host) throws -> Int
    ) {
        self.name = name
        self.isInterruptible = isInterruptible
        self.step = step
    }

    /// The threads of a daemon.
    static func all(_ swarm: Swarm) -> [HostTask] {
        var tasks = [
            HostTask("replica") { try $0.stepReplica() },
            HostTask("alive") { try $0.stepAlive() },
            HostTask("writer") { try $0.stepWriter() },
            HostTask("commits") { try $0.stepCommits() },
            HostTask("upkeep", isInterruptible: true) { try $0.stepUpkeep() },
            HostTask("fetches") { try $0.stepFetches() },
        ]
        if swarm.localByteCountMax != nil {
            tasks.append(HostTask("eviction") { try $0.stepEviction() })
        }
        tasks.append(HostTask("scrub") { try $0.stepScrub() })
        if swarm.has(.backups) { tasks.append(HostTask("backup") { try $0.stepBackup() }) }
        return tasks
    }
}

extension Host {
    /// Does one step of a task, and what follows where the process died in it.
    func run(_ task: HostTask) throws {
        guard isUp, !task.isRunning else { return }
        task.isRunning = true
        frames += 1
        world.enter(self)
        do {
            let interrupted = world.interruptible
            world.interruptible = task.isInterruptible ? self : nil
            defer { world.interruptible = interrupted }
            let pause = try task.step(self)
            task.due = world.clock + Int64(pause)
            if failureCount == 0 || task.name != "replica" { errors[task.name] = nil }
        } catch let finding as Finding {
            throw finding
        } catch {
            try fail(task, error)
        }
        frames -= 1
        task.isRunning = false
        try noteState()
        settle()
    }

    /// Buries a process that died.
    func settle() {
        if disk.isFrozen, life == .up { life = .dying }
        if life == .dying, frames == 0 { bury() }
    }

    private func fail(_ task: HostTask, _ error: any Error) throws {
        guard life == .up, !disk.isFrozen else { return }
        errors[task.name] = "\(error)"
        world.trace("\(name) \(task.name): \(error)")
        world.sometimes("\(task.name) failed")
        task.due = world.clock + 5_000
        if let error = error as? StoreError, case .outcomeUnknown = error { return kill() }
    }

    // MARK: - The replica's thread

    func stepReplica() throws -> Int {
        guard var replica else { return 1_000 }
        // Nobody else uses it meanwhile.
        self.replica = nil
        ungiven = replica.ungiven
        defer { if life == .up { self.replica = replica } }
        do {
            let step = try replica.step(on: bucket)
            failureCount = 0
            complete(upTo: replica.reachedSequence)
            switch step {
            case .again: return 0
            case .wait(let milliseconds): return milliseconds
            case .mustRestart(let why):
                world.trace("\(name) must be started again: \(why)")
                world.sometimes("must restart")
                guard world.hasCopies || !why.contains("does not continue the previous one") else {
                    throw Finding("the log is taken for another one's", "\(name): \(why)")
                }
                errors["start"] = why
                try? store?.endLogging()
                try noteState()
                disk.freeze()
                life = .dying
                return 0
            }
        } catch let finding as Finding {
            throw finding
        } catch {
            guard life == .up, !disk.isFrozen else { throw error }
            errors["replica"] = "\(error)"
            world.trace("\(name) replica: \(error)")
            if case .outcomeUnknown? = error as? StoreError { throw error }
            takePromotion()?.refuse("\(error)")
            complete(upTo: replica.reachedSequence)
            failureCount += 1
            return 125 << min(failureCount, 6)
        }
    }

    func stepAlive() throws -> Int {
        guard aliveEpoch != nil, var writer = alive else { return 500 }
        do {
            let pause = try writer.step(on: bucket)
            alive = writer
            return pause
        } catch {
            guard life == .up, !disk.isFrozen else { throw error }
            world.sometimes("alive failed")
            return 1_000
        }
    }

    // MARK: - The bucket's thread

    func stepUpkeep() throws -> Int {
        if let ungiven, try ungiven.look(on: bucket) { return 0 }
        guard case .ships(let epoch) = activity, let store else { return 1_000 }
        if maintenance == nil {
            maintenance = try BucketMaintenance(
                store, epoch: epoch, world.schedule, on: bucket, clock: { [self] in now },
                bootMilliseconds: { [self] in world.clock }, writer: self)
        }
        let isNeeded = world.swarm.has(.upkeep) || world.isSafe && !world.lost.isEmpty
        guard isNeeded || maintenance?.bases.isEmpty == true,
            var current = maintenance
        else { return 1_000 }
        do {
            let step = try current.step(on: bucket)
            // Another thread may have ended it.
            if maintenance != nil { maintenance = current }
            switch step {
            case .needsSegment:
                wantsSegment = true
                wake("replica")
                return 1_000
            case .nothing, .unknown, .deletedSegments(0): return 1_000
            default:
                world.sometimes("upkeep: \("\(step)".prefix { $0 != "(" })")
                return 0
            }
        } catch ReplicationError.deposed {
            maintenance = nil
            return 1_000
        } catch {
            if maintenance != nil { maintenance = current }
            throw error
        }
    }

    // MARK: - The writer's thread, between batches

    func stepWriter() throws -> Int {
        guard let store else { return 1_000 }
        defer { world.note { try self.noteState() } }
        let boot = world.clock
        let isSteady = deletionClock.tick(wall: now.milliseconds, boot: boot) == .steady
        if takesChanges, isSteady, world.swarm.has(.sweeping) {
            _ = try store.sweepExpired(asOf: now, limit: 64)
        }
        _ = try store.freeOrphans(byteCountMax: 32 << 20, bootMilliseconds: boot)
        try store.quarantineFound(asOf: now)
        var position = HealingPosition()
        if takesChanges { _ = try store.heal(&position, asOf: now) }
        for damaged in store.quarantinedBlobs where damaged.isInBucket { want(damaged.blob) }
        if world.chance.chance(20) {
            try store.trimFile()
            _ = try store.reclaimFreePages(microsecondsMax: 5_000)
        }
        try store.saveShipped()
        return 1_000
    }

    func stepCommits() throws -> Int {
        guard let store, store.pendingChanges.isPending else { return 2_000 }
        try store.commitPending()
        wantsCommit = false
        wake("replica")
        return 2_000
    }

    /// Commits what is only in the log; false where the process dies of that.
    func commit() -> Bool {
        do { try store?.commitPending() } catch { kill() }
        settle()
        return life == .up
    }

    func wake(_ name: String, in milliseconds: Int64 = 0) {
        for task in tasks where task.name == name {
            task.due = min(task.due, world.clock + milliseconds)
        }
    }

    // MARK: - Scrubbing, backups

    func stepScrub() throws -> Int {
        guard let store, store.needsScrubber || world.swarm.has(.scrubbing) else { return 1_000 }
        var scrubber = try store.makeScrubber()
        if store.needsScrubber { try scrubber.checkSuspects() }
        // All of it once a minute.
        guard world.swarm.has(.scrubbing), world.clock >= nextScrub else { return 1_000 }
        nextScrub = world.clock + 60_000
        scrubber.begin(asOf: now)
        while try scrubber.step(byteCountMax: 1 << 20, asOf: now) != nil {}
        let findings = scrubber.takeFindings()
        guard findings.isEmpty || !world.damaged.isEmpty else {
            throw Finding(
                "scrubbing finds damage in a sound store: \(Host.words(findings[0]))", findings[0])
        }
        if store.hasConfirmedDamage, world.damaged.isEmpty {
            throw Finding("scrubbing finds damaged payloads in a sound store")
        }
        return 1_000
    }

    func stepBackup() throws -> Int {
        guard let store, commit() else { return 60_000 }
        let (bucket, contents) = (bucket, expected)
        var backup: [UInt8] = []
        do {
            try store.backUp(
                asOf: now,
                missing: { blobs, put in
                    for blob in blobs {
                        try put(
                            blob, .bytes(try LongBlobs.bytes(of: blob, in: store.id, on: bucket)))
                    }
                }
            ) { bytes in
                backup.append(contentsOf: bytes.withUnsafeBytes { Array($0) })
                world.actMeanwhile(self)
            }
            if life == .up, !disk.isFrozen { try world.checkBackup(backup, contents, by: self) }
        } catch StoreError.corrupt(let why) where world.damaged.isEmpty {
            throw Finding("a backup finds damage in a sound store: \(Host.words(why))", why)
        }
        return 60_000
    }
}
