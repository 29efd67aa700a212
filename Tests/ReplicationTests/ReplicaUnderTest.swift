import BlobStore
import Replication
import Synchronization
import TestSupport
import Testing

/// A host of a shard without threads: its replica, its clock, and what it told.
///
/// The replica refers to its host, so that this, which has both, is another object: else nothing of a test would end.
@dynamicMemberLookup
final class ReplicaUnderTest {
    let host: TestHost
    let folder: TemporaryFolder
    let bucket: MemoryBucket
    /// Of the thread that looks for payloads that the bucket did not give.
    let upkeep: MemoryBucket
    /// Whether that thread does so, or waits for an answer.
    var looksForPayloads = true
    private var replica: Replica!
    private var alive: AliveWriter!
    private var nextBeat: Int64 = 0
    /// What it cannot do although its steps succeed.
    var problem: String? { replica.problem }
    /// Why the process must be started again; nil: it need not.
    private(set) var restartReason: String?

    /// A host that is not started.
    init(
        _ name: String, _ objects: MemoryObjects, mayBegin: Bool = true,
        folder: TemporaryFolder = TemporaryFolder()
    ) {
        self.folder = folder
        bucket = MemoryBucket(objects)
        upkeep = MemoryBucket(objects)
        host = TestHost()
        host.settings.shardName = "s3://shard"
        host.settings.hostName = name
        host.settings.mayBegin = mayBegin
    }

    subscript<Value>(dynamicMember path: KeyPath<TestHost, Value>) -> Value {
        host[keyPath: path]
    }

    subscript<Value>(dynamicMember path: ReferenceWritableKeyPath<TestHost, Value>) -> Value {
        get { host[keyPath: path] }
        set { host[keyPath: path] = newValue }
    }

    // MARK: - The process

    func start() throws {
        restartReason = nil
        let path = folder.path
        host.store = try ReplicaStart(path, Member.options, host) {
            try BlobStore.open(at: path, options: Member.options)
        }.run(on: bucket)
        replica = Replica(host.store, host)
        alive = AliveWriter(host.store, host)
        nextBeat = host.uptime
    }

    /// Ends as a process does that is killed.
    func kill() {
        replica = nil
        alive = nil
        host.store = nil
        host.isShardChecked = false
        host.activity = .starts
    }

    /// One step. Where that says to wait, the clock is moved by so much.
    func step() throws {
        try? beat()
        if looksForPayloads { _ = try? replica.ungiven?.look(on: upkeep) }
        switch try replica.step(on: bucket) {
        case .again: break
        case .wait(let milliseconds): host.uptime += Int64(milliseconds)
        case .mustRestart(let why): restartReason = why
        }
    }

    /// What another thread does, when it is due.
    func beat(on other: MemoryBucket? = nil) throws {
        guard host.activity.epoch != nil, host.uptime >= nextBeat else { return }
        nextBeat = host.uptime + 1_000
        nextBeat = host.uptime + Int64(try alive.step(on: other ?? bucket))
    }

    /// Steps until something is so.
    func run(_ steps: Int = 1_000, until isDone: () throws -> Bool) throws {
        for _ in 0..<steps {
            if try isDone() { return }
            try step()
            if restartReason != nil {
                kill()
                try start()
            }
        }
        throw TestFailure(
            "\(host.settings.hostName): not within \(steps) steps; \(host.lines.suffix(4))")
    }

    /// One step, in a process that is started again where it says so, or where it could not start.
    func stepOrRestart() throws {
        if restartReason != nil { kill() }
        if host.store == nil { try start() } else { try step() }
    }

    /// Steps several hosts in turn until something is so.
    static func run(_ hosts: [ReplicaUnderTest], until isDone: () throws -> Bool) throws {
        for _ in 0..<1_000 {
            if try isDone() { return }
            for host in hosts { try host.stepOrRestart() }
        }
        throw TestFailure("not within 1,000 steps; \(hosts.flatMap { $0.lines.suffix(3) })")
    }

    /// A host that is not started, with a copy of this one's folder.
    func copied() throws -> ReplicaUnderTest {
        let other = ReplicaUnderTest(host.settings.hostName + "-copy", bucket.shared)
        for name in folder.names where !name.hasSuffix(".lock") {
            guard !name.hasPrefix("unreplicated") else { continue }
            try other.folder.write(name, folder.read(name))
        }
        return other
    }

    /// A host that leads a shard, and has made its first base.
    static func leader(_ objects: MemoryObjects) throws -> ReplicaUnderTest {
        let host = ReplicaUnderTest("a", objects)
        try host.start()
        try host.lead()
        try host.writeBase()
        return host
    }

    /// A follower of this leader, with all that it has shipped. Writes a base.
    func follower(_ name: String) throws -> ReplicaUnderTest {
        try writeBase()
        let other = ReplicaUnderTest(name, bucket.shared, mayBegin: false)
        try other.start()
        try other.run { other.store.lastSequence == host.store.shippedSequence }
        return other
    }

    func ship() throws {
        try run { host.store.shippedSequence == host.store.lastSequence }
    }

    /// Puts a base behind what is shipped into the bucket.
    func writeBase() throws {
        let state = try #require(host.store.replicationState)
        var writer = BaseWriter(
            host.store, after: state.position, of: state.epoch, uploadsAllBlobs: true)
        try writer.upload(on: bucket) { self.host.now }
        #expect(try writer.finish(on: bucket) == .finished)
    }

    /// Whether it takes no changes for a moment.
    var isChanging: Bool {
        switch host.activity {
        case .changes, .holds: true
        default: false
        }
    }

    var isLeading: Bool { if case .ships = host.activity { true } else { false } }

    /// Leads, and has all in the bucket.
    func lead() throws {
        try run { isLeading && host.store.shippedSequence == host.store.lastSequence }
    }
}

/// What a replica asks of its host and tells it.
final class TestHost: ReplicaHost, @unchecked Sendable {
    // Sendable: a test uses it on its own thread alone.

    var settings = ReplicaSettings()
    fileprivate(set) var store: BlobStore!
    var uptime: Int64 = 0
    var now: Timestamp { noon.adding(seconds: uptime / 1_000) }
    fileprivate(set) var activity = ReplicaActivity.starts
    private(set) var lines: [String] = []
    private(set) var failedWaiters: [String] = []
    /// Up to which batch clients were told that it is replicated.
    private(set) var completed: UInt64 = 0
    var promotion: TestPromotion?
    var hasWaiters = false
    private(set) var movedAt: Int64 = 0
    let progress = ReplicaProgress()
    /// The batches that were said to refer to what is lost.
    private(set) var refusedSequences: [UInt64] = []
    /// Called before what the writer's thread does.
    var onWrite: () throws(StoreError) -> Void = {}
    /// Called after it.
    var onWritten: () throws(StoreError) -> Void = {}
    /// Called when a start waits.
    var onWait: () -> Void = {}
    var aliveEpoch: UInt64? { activity.epoch }
    /// Whether a client waits for a segment that is begun after it asked.
    var awaitsSegment = false
    var isShardChecked = false

    func log(_ level: ReplicaLogLevel, _ text: String) { lines.append(text) }
    func noteShardChecked() { isShardChecked = true }
    func requireConditionalCreates() throws {}
    func wait(milliseconds: Int) -> Bool {
        uptime += Int64(milliseconds)
        onWait()
        return false
    }
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (BlobStore) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        try onWrite()
        let value = try body(store)
        try onWritten()
        return value
    }
    func become(_ activity: ReplicaActivity) { self.activity = activity }
    func noteLeader(_ host: String) {}
    func noteMoved(at uptime: Int64) { movedAt = uptime }
    func complete(upTo sequence: UInt64) { completed = sequence }
    /// Whether it asked before the segment that was begun last.
    private var isSegmentBegun = false
    func beginSegment() -> Bool {
        isSegmentBegun = awaitsSegment
        return awaitsSegment
    }
    func noteSegmentAppended() {
        if isSegmentBegun { awaitsSegment = false }
    }
    func failWaiters(_ why: String) { failedWaiters.append(why) }
    func refuseWaiters(_ why: String, of sequences: [UInt64]) {
        failedWaiters.append(why)
        refusedSequences += sequences
    }
    func takePromotion() -> (any PromotionRequest)? {
        defer { promotion = nil }
        return promotion
    }
}

/// A request for the lead that remembers its answer.
final class TestPromotion: PromotionRequest {
    enum Answer: Equatable, Sendable { case leads(UInt64), refused(String) }
    let isForced: Bool
    private let given = Mutex<Answer?>(nil)

    init(isForced: Bool = false) { self.isForced = isForced }

    var answer: Answer? { given.withLock { $0 } }
    func succeed(epoch: UInt64) { given.withLock { $0 = .leads(epoch) } }
    func refuse(_ why: String) { given.withLock { $0 = .refused(why) } }
}
