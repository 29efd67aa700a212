import BlobStore
import Replication
import TestSupport

/// A machine of the shard: its disk, and while it is up the process on it, which runs the production code.
final class Host: ReplicaHost, @unchecked Sendable {
    // Sendable: one thread has the whole world.

    enum Life: Equatable {
        case up
        /// It is dead, and code of it is still on the stack.
        case dying
        case down(until: Int64)
    }

    unowned let world: World
    let name: String
    let disk: SimulatedDisk
    var settings: ReplicaSettings

    // The process.
    var store: BlobStore?
    private(set) lazy var bucket = SimulatedBucket(self)
    var replica: Replica?
    /// What it lacks while it follows.
    var ungiven: UngivenPayloads?
    var maintenance: BucketMaintenance?
    var life: Life
    var tasks: [HostTask] = []
    /// How often code of this process is on the stack.
    var frames = 0
    var activity = ReplicaActivity.changes
    var promotion: Promotion?
    var alive: AliveWriter?
    var progress = ReplicaProgress()
    /// Whether a base waits for a segment.
    var wantsSegment = false
    var isShardChecked = false
    var startedAt: Int64 = 0
    /// From then to then it cannot reach the bucket.
    var cutOffFrom: Int64 = 0
    var cutOffUntil: Int64 = 0
    /// Until then the process stands still.
    var pausedUntil: Int64 = 0
    /// Whether a reader waits for what is only in the log.
    var wantsCommit = false
    /// Evicted payloads that somebody asked for.
    var wanted: [BlobReference] = []
    /// Clients that read slowly.
    var readers: [Reader] = []
    /// When payloads were fetched, by number: they stay for some seconds.
    var fetched: [UInt64: Int64] = [:]
    var deletionClock = DeletionClock()
    var nextScrub: Int64 = 0
    /// Why a task does not get on, by its name.
    var errors: [String: String] = [:]
    var failureCount = 0

    // The machine.
    /// How far its clock is ahead.
    var clockOffset: Int64 = 0
    var isFull = false
    /// How often it was booted.
    var bootCount = 1
    var bootID: BootID { BootID("0000000000000000000000000000\(1_000 + bootCount)") ?? .unknown }

    // What the model knows of it.
    /// What the store should have while it leads.
    var timeline: Timeline?
    /// The changes that are under way; nil: none are.
    var inFlight: InFlight?
    /// Changes that wait to be in the bucket.
    var waiters: [Waiter] = []
    /// The last name of the log that this host created.
    var appendedPosition: UInt64 = 0
    /// How long the host that began an epoch had been silent when this one asked for its last sign of life.
    var seenSilence: (epoch: UInt64, milliseconds: Int64) = (0, 0)
    /// Contents of which bytes were damaged on this disk.
    var damaged: Set<Int> = []
    /// What a copy of the folder, taken earlier, should have.
    var snapshot: (timeline: Timeline?, damaged: Set<Int>, inFlight: InFlight?)?

    init(
        _ world: World, _ name: String, number: Int, mayBegin: Bool, copying source: Host? = nil
    ) throws {
        self.world = world
        self.name = name
        disk = try SimulatedDisk(
            number: number, folder: "\(world.folder)/\(name)", copying: source?.disk.folder)
        var settings = ReplicaSettings()
        settings.shardName = "shard"
        settings.hostName = source?.settings.hostName ?? name
        settings.mayBegin = mayBegin
        settings.isLogging = world.swarm.has(.logging)
        settings.localByteCountMax = world.swarm.localByteCountMax
        if world.swarm.has(.autoPromote) { settings.autoPromoteMilliseconds = 30_000 }
        self.settings = settings
        life = .down(until: world.clock)
        if let source {
            timeline = source.timeline
            damaged = source.damaged
            inFlight = source.inFlight
        }
        tasks = HostTask.all(world.swarm)
    }

    var isUp: Bool { life == .up && pausedUntil <= world.clock }
    var leads: Bool { if case .leader = store?.replicationState?.role { true } else { false } }

    /// Whether clients may change it: the daemon refuses changes otherwise.
    var takesChanges: Bool {
        switch activity {
        case .leads, .ships: isUp
        case .starts:
            isUp && world.clock >= startedAt + Int64(ReplicationLimits.startMilliseconds)
        case .follows, .changes, .holds: false
        }
    }

    // MARK: - ShardHost

    var uptime: Int64 { world.clock }
    var now: Timestamp { Timestamp(milliseconds: World.start + world.clock + clockOffset) }

    func log(_ level: ReplicaLogLevel, _ text: String) {
        world.trace("\(name) says: \(text)")
        if text.hasPrefix("The bucket does not give") {
            world.sometimes("went on without a payload")
            world.hasUngivenPayloads = true
        }
        if text.hasPrefix("Replication waits") { world.sometimes("met a fence") }
        if text.hasPrefix("Nobody leads epoch") { world.sometimes("led again after a fence") }
        if text.hasPrefix("\(settings.hostName) has led since"), !world.hasCopies {
            world.note { throw Finding("a leader is deposed by an epoch of its own", name) }
        }
    }

    func noteShardChecked() { isShardChecked = true }
    func requireConditionalCreates() throws {}

    func wait(milliseconds: Int) -> Bool {
        let othersContinue = world.pause(nil, Int64(milliseconds), of: self)
        // What it waits for never comes where nobody else does anything: it is stopped, and starts again later.
        return life != .up || !othersContinue
    }

    // MARK: - ReplicaHost

    func write<Value: Sendable>(
        _ body: @escaping @Sendable (BlobStore) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        guard let store, life == .up else { throw .outcomeUnknown("the process is dead") }
        let interrupted = world.interruptible
        world.interruptible = nil
        defer {
            world.note { try self.noteState() }
            world.interruptible = interrupted
        }
        return try body(store)
    }

    func become(_ activity: ReplicaActivity) {
        self.activity = activity
        guard case .ships = activity else {
            maintenance = nil
            return
        }
        // Who was told to take the lead by force has it: to depose another one, it is told so again.
        world.mayDepose.remove(name)
    }

    func noteLeader(_ host: String) {}
    func noteMoved(at uptime: Int64) {}
    var aliveEpoch: UInt64? { activity.epoch }
    var hasWaiters: Bool { !waiters.isEmpty }

    func complete(upTo sequence: UInt64) {
        guard life == .up else { return }
        let done = waiters.filter { $0.sequence <= sequence && $0.segment == .none }
        waiters.removeAll { $0.sequence <= sequence && $0.segment == .none }
        for waiter in done { world.note { try world.acknowledge(waiter, by: self) } }
    }

    func beginSegment() -> Bool {
        defer { wantsSegment = false }
        for index in waiters.indices where waiters[index].segment == .next {
            waiters[index].segment = .begun
        }
        return wantsSegment || waiters.contains { $0.segment == .begun }
    }

    func noteSegmentAppended() {
        for index in waiters.indices where waiters[index].segment == .begun {
            waiters[index].segment = .none
        }
    }

    func failWaiters(_ why: String) { waiters = [] }

    func refuseWaiters(_ why: String, of sequences: [UInt64]) {
        waiters.removeAll { sequences.contains($0.sequence) }
    }

    func takePromotion() -> (any PromotionRequest)? {
        defer { promotion = nil }
        return promotion
    }

    // MARK: - Life

    /// Throws where the process is dead: what is on the stack of it ends.
    func requireLife() throws(ReplicationError) {
        if disk.isFrozen, life == .up { life = .dying }
        guard life == .up else { throw .stopped }
    }

    func dieInRequest() throws(ReplicationError) {
        kill()
        try requireLife()
    }

    /// The process is gone at once.
    func kill() {
        guard life == .up else { return }
        world.trace("\(name) is killed")
        disk.freeze()
        life = .dying
        if frames == 0 { bury() }
    }

    /// Gives up all that the dead process had.
    func bury() {
        precondition(frames == 0)
        replica = nil
        ungiven = nil
        alive = nil
        progress = ReplicaProgress()
        wantsSegment = false
        maintenance = nil
        readers = []
        store = nil
        waiters = []
        wanted = []
        fetched = [:]
        promotion?.refuse("the daemon stopped")
        promotion = nil
        deletionClock = DeletionClock()
        nextScrub = 0
        activity = .changes
        isShardChecked = false
        wantsCommit = false
        life = .down(until: world.clock + Int64(world.chance.below(3_000)))
    }

    /// The process stops as after SIGTERM.
    func stop() {
        guard life == .up, frames == 0 else { return }
        world.trace("\(name) stops")
        try? store?.endLogging()
        world.note { try self.noteState() }
        disk.freeze()
        life = .dying
        bury()
    }
}

/// A client that waits for the bucket.
struct Waiter {
    enum Segment { case none, next, begun }

    let sequence: UInt64
    let stamp: Int
    let begunAt: Int64
    /// Lost objects that must be in the bucket again, unless they are lost once more.
    let objects: [String]
    /// Where the log ended when the client asked for what had no effect.
    let position: UInt64?
    var segment: Segment
}

/// Somebody asks a follower to take the lead.
struct Promotion: PromotionRequest {
    let isForced: Bool
    func succeed(epoch: UInt64) {}
    func refuse(_ why: String) {}
}
