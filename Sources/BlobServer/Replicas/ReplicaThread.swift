import BlobProtocol
import BlobStore
import Logging
import ObjectStore
import Replication
import Synchronization

/// The thread that ships this daemon's changes, or applies another daemon's.
final class ReplicaThread: Sendable {
    private let context: ShardContext
    private let thread: ServiceThread
    private let onDeposed: @Sendable () -> Void

    private static let stopPauseMilliseconds = 1_000

    init(
        _ context: ShardContext, onDeposed: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        self.context = context
        self.onDeposed = onDeposed
        thread = try ServiceThread()
        try thread.start("blobd-replica") { [self] in run() }
    }

    /// Ends the thread. Unshipped changes are shipped after the next start.
    func close() {
        thread.stop()
        context.access.stop()
        context.replica.signal.notify()
        thread.join()
    }

    /// Answers a request for the lead while replication fails. One that came during the step that failed is not for it: the
    /// step may have refused the one before it with this error, and whoever asked again has mended what it named.
    private func refusePromotion(askedUntil begin: Instant, because error: any Error) {
        context.replica.takePromotion(askedUntil: begin)?.refuse("cannot take the lead: \(error)")
    }

    private func run() {
        let bucket: any Bucket
        do {
            bucket = try context.access.makeBucket { [progress = context.replica.progress] in
                progress.noteMoved($0)
            }
        } catch {
            context.log.critical("Cannot reach \(context.access.name): \(error)")
            return onDeposed()
        }
        let host = DaemonReplica(context)
        // What an earlier run has not shipped may be too old already.
        context.replica.look(at: context.store, asOf: .now)
        var failures = ReplicaFailures(context.log, context.replica)
        var replica = Replica(context.store, host)
        // It refers to this host, and that to where it is kept.
        defer { context.replica.ungiven.withLock { $0 = nil } }
        while !thread.isClosing {
            let begin = Instant.now
            context.replica.ungiven.withLock { $0 = replica.ungiven }
            do {
                let step = try replica.step(on: bucket)
                failures.noteSuccess(replica.problem)
                host.complete(upTo: replica.reachedSequence)
                switch step {
                case .again: continue
                case .wait(let milliseconds):
                    context.replica.signal.wait(milliseconds: milliseconds)
                case .mustRestart(let why):
                    context.log.critical("\(why); start the daemon again")
                    host.become(.changes)
                    host.failWaiters(
                        "stored here, but another daemon leads: it is not replicated")
                    return onDeposed()
                }
            } catch ReplicationError.stopped {
                // The daemon ends, and other threads take some time for that.
                context.replica.signal.wait(milliseconds: Self.stopPauseMilliseconds)
            } catch {
                let pause = failures.note(error)
                refusePromotion(askedUntil: begin, because: error)
                host.complete(upTo: replica.reachedSequence)
                wait(milliseconds: pause)
            }
        }
    }

    /// Waits for the whole time, regardless of commits, unless a client asks for the lead.
    private func wait(milliseconds: Int) {
        let end = Instant.now.after(milliseconds: milliseconds)
        while !thread.isClosing, !context.replica.hasPromotion {
            let rest = end.milliseconds(since: .now)
            guard rest > 0 else { return }
            context.replica.signal.wait(milliseconds: Int(rest))
        }
    }
}

/// Logs the first of consecutive failures, and their end, and returns how long to wait.
private struct ReplicaFailures {
    private let log: Logger
    private let status: ReplicaStatus
    private var said: String?
    private var backoff = Backoff(firstMilliseconds: 250, millisecondsMax: 4_000)

    init(_ log: Logger, _ status: ReplicaStatus) {
        self.log = log
        self.status = status
    }

    /// - Parameter problem: what cannot be done all the same.
    mutating func noteSuccess(_ problem: String?) {
        say(problem)
        guard backoff.attemptCount > 0 else { return }
        log.notice("Replication continues")
        backoff.reset()
    }

    private mutating func say(_ problem: String?) {
        guard problem != said else { return }
        said = problem
        status.problems.withLock { $0.replica = problem }
    }

    mutating func note(_ error: any Error) -> Int {
        log.log(
            level: backoff.attemptCount == 0 ? .error : .debug, "Replication is paused: \(error)")
        say("replication is paused: \(error)")
        return backoff.next()
    }
}

/// The daemon's side of the replica that it runs.
final class DaemonReplica: ReplicaHost {
    private let context: ShardContext

    init(_ context: ShardContext) { self.context = context }

    private var status: ReplicaStatus { context.replica }

    var settings: ReplicaSettings { context.access.settings }

    var uptime: Int64 { context.access.uptime }

    var now: Timestamp { context.access.now }

    func log(_ level: ReplicaLogLevel, _ text: String) { context.access.log(level, text) }

    var isShardChecked: Bool { context.access.isShardChecked }

    func noteShardChecked() { context.access.noteShardChecked() }

    func requireConditionalCreates() throws { try context.access.requireConditionalCreates() }

    func wait(milliseconds: Int) -> Bool { context.access.wait(milliseconds: milliseconds) }

    func write<Value: Sendable>(
        _ body: @escaping @Sendable (BlobStore) throws(StoreError) -> Value
    ) throws(StoreError) -> Value { try context.writer.write(body) }

    func become(_ activity: ReplicaActivity) {
        // Shipping is stopped first, then changes are refused.
        var epoch: UInt64 = 0
        if case .ships(let number) = activity { epoch = number }
        status.leadingEpoch.store(epoch, ordering: .releasing)
        status.aliveEpoch.store(activity.epoch ?? 0, ordering: .releasing)
        if activity != .starts { status.noteStarted() }
        switch activity {
        // At the start, no client is connected yet, or clients have waited long enough.
        case .starts: break
        case .leads, .ships: status.role = .leader
        case .follows: status.role = .follower
        case .changes, .holds: status.role = .changing
        }
    }

    func noteLeader(_ host: String) { status.leader = host }

    func noteMoved(at uptime: Int64) {
        status.movedAt.store(uptime * 1_000_000, ordering: .relaxed)
    }

    var aliveEpoch: UInt64? {
        let epoch = status.aliveEpoch.load(ordering: .acquiring)
        return epoch == 0 ? nil : epoch
    }

    var progress: ReplicaProgress { status.progress }

    var hasWaiters: Bool { status.hasWaiters }

    func complete(upTo sequence: UInt64) {
        status.complete(upTo: sequence, lookingAt: context.store, asOf: .now)
    }

    func beginSegment() -> Bool {
        let isWanted = status.wantsSegment.exchange(false, ordering: .relaxed)
        return status.beginSegment() || isWanted
    }

    func noteSegmentAppended() { status.noteSegmentAppended() }

    func failWaiters(_ why: String) { status.failAll(ProtocolError(.unreplicated, why)) }

    func refuseWaiters(_ why: String, of sequences: [UInt64]) {
        status.refuse(ProtocolError(.unreplicated, why), of: sequences)
    }

    func takePromotion() -> (any PromotionRequest)? { status.takePromotion() }
}

extension WriterThread: StoreWriter {}
