import BlobStore
import Replication
import Synchronization
import TestSupport
import Testing

/// A host of a shard without threads: its replica, its clock, and what it told.
final class ReplicaUnderTest: ReplicaHost, @unchecked Sendable {
    // Sendable: a test uses it on its own thread alone.

    let folder: TemporaryFolder
    let bucket: MemoryBucket
    var settings = ReplicaSettings()
    private(set) var store: BlobStore!
    private var replica: Replica!

    var uptime: Int64 = 0
    var now: Timestamp { noon.adding(seconds: uptime / 1_000) }
    private(set) var activity = ReplicaActivity.starts
    private(set) var lines: [String] = []
    private(set) var failedWaiters: [String] = []
    var promotion: TestPromotion?
    var newestEpoch: UInt64?
    var hasWaiters = false
    var isShardChecked = false
    /// Why the process must be started again; nil: it need not.
    private(set) var restartReason: String?

    /// A host that is not started.
    init(
        _ name: String, _ objects: MemoryObjects, mayBegin: Bool = true,
        folder: TemporaryFolder = TemporaryFolder()
    ) {
        self.folder = folder
        bucket = MemoryBucket(objects)
        settings.shardName = "s3://shard"
        settings.hostName = name
        settings.mayBegin = mayBegin
    }

    // MARK: - The process

    func start() throws {
        restartReason = nil
        let path = folder.path
        store = try ReplicaStart(path, Member.options, self) {
            try BlobStore.open(at: path, options: Member.options)
        }.run(on: bucket)
        replica = Replica(store, self)
    }

    /// Ends as a process does that is killed.
    func kill() {
        replica = nil
        store = nil
        isShardChecked = false
        activity = .starts
    }

    /// One step. Where that says to wait, the clock is moved by so much.
    func step() throws {
        switch try replica.step(on: bucket) {
        case .again: break
        case .wait(let milliseconds): uptime += Int64(milliseconds)
        case .mustRestart(let why): restartReason = why
        }
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
        throw TestFailure("\(settings.hostName): not within \(steps) steps; \(lines.suffix(4))")
    }

    var isLeading: Bool { if case .ships = activity { true } else { false } }

    /// Leads, and has all in the bucket.
    func lead() throws {
        try run { isLeading && store.shippedSequence == store.lastSequence }
    }

    // MARK: - ReplicaHost

    func log(_ level: ReplicaLogLevel, _ text: String) { lines.append(text) }
    func noteShardChecked() { isShardChecked = true }
    func requireConditionalCreates() throws {}
    func wait(milliseconds: Int) -> Bool {
        uptime += Int64(milliseconds)
        return false
    }
    func write(
        _ body: @escaping @Sendable (BlobStore) throws(StoreError) -> Void
    ) throws(StoreError) { try body(store) }
    func become(_ activity: ReplicaActivity) { self.activity = activity }
    func noteLeader(_ host: String) {}
    func noteMoved(at uptime: Int64) {}
    func complete(upTo sequence: UInt64) {}
    func failWaiters(_ why: String) { failedWaiters.append(why) }
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
