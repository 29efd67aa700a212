import BlobStore
import Logging
import Synchronization

struct DaemonContext: Sendable {
    let store: BlobStore
    let limits: LiveLimits
    let counters: DaemonCounters
    let bodyMemory: BodyMemory
    let oldestSnapshot: OldestSnapshot
    let scrub: ScrubState
    let replica: ReplicaStatus
    let log: Logger
}

/// The only thread that changes the store, and its queue of changes.
final class WriterThread: Sendable {
    struct LongOperation {
        var change: CheckedLongChange
        let connection: ConnectionAddress
        /// Kept until the change is done.
        let reservation: BodyReservation?
    }

    /// Called once between two batches, with the store or an error. Returns the error after which nothing may be synced
    /// again, if there was one.
    typealias StoreTask = @Sendable (Result<BlobStore, StoreError>) -> StoreError?

    struct State {
        var waiting = ChangeBatch()
        var longOperations: [LongOperation] = []
        var tasks: [StoreTask] = []
        var isEnded = false
    }

    let context: DaemonContext
    let state = Mutex(State())
    let thread: ServiceThread
    private let failures: Mutex<FailureLog>
    /// Called once, when a sync has failed. Nothing may be synced again in this process.
    let onOutcomeUnknown: @Sendable () -> Void

    init(
        _ context: DaemonContext, onOutcomeUnknown: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        self.context = context
        self.onOutcomeUnknown = onOutcomeUnknown
        failures = Mutex(FailureLog(context.log))
        thread = try ServiceThread()
    }

    func start() throws(SystemError) {
        context.store.checkpoints?.serve(checkpointHost)
        try thread.start("blobd-writer") { [self] in
            var loop = WriterLoop(self)
            loop.run()
        }
    }

    /// The queue needs no limit: each connection waits for one change at a time.
    func submit(_ change: consuming PendingChange) {
        var slot: PendingChange? = consume change
        let isFirst = state.withLock { state in
            let wasEmpty = state.waiting.waiters.isEmpty && state.longOperations.isEmpty
            guard let change = slot.take() else { return wasEmpty }
            if case .long(let long) = change.operation {
                state.longOperations.append(
                    LongOperation(
                        change: long, connection: change.connection,
                        reservation: change.reservation))
            } else {
                state.waiting.append(change)
            }
            return wasEmpty
        }
        if isFirst { thread.wake() }
    }

    /// Makes the writer do something with the store, and waits for the result. Not for the writer's own thread.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (BlobStore) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        let outcome: TaskOutcome<Value>
        do throws(SystemError) { outcome = try TaskOutcome() } catch { throw StoreError(error) }
        let isEnded = state.withLock { state in
            if !state.isEnded { state.tasks.append { outcome.note($0, body) } }
            return state.isEnded
        }
        guard !isEnded else { throw .io(operation: "use the writer", errno: 0) }
        thread.wake()
        return try outcome.wait()
    }

    /// Accepts no more tasks, and ends those in the queue.
    func endTasks(_ error: StoreError) {
        let tasks = state.withLock { state in
            state.isEnded = true
            defer { state.tasks = [] }
            return state.tasks
        }
        for task in tasks { _ = task(.failure(error)) }
    }

    /// Applies queued changes. A long change ends after its current step, and the client may repeat its request.
    func close() {
        thread.close()
        context.store.checkpoints?.close()
    }

    /// What follows the commits of what this thread's changes have left in the log.
    private var checkpointHost: CheckpointHost {
        let replica = context.replica
        var host = CheckpointHost()
        host.isShipped = { replica.role == .leader }
        host.attempted = { [weak self] in
            self?.thread.wake()
            if replica.role == .leader { replica.signal.notify() }
        }
        host.failed = { [weak self] work, error in self?.note(error, of: work) }
        return host
    }

    private func note(_ error: StoreError, of work: StaticString) {
        switch error {
        // Publishes are refused meanwhile, which is logged.
        case .full: break
        case .outcomeUnknown:
            // The writer's next change fails, and ends the process.
            _ = Result { () throws(StoreError) in
                try write { (store) throws(StoreError) in try store.commitPending() }
            }
        default:
            failures.withLock {
                $0.note(.error, of: "\(work)", "Cannot \(work), and tries again: \(error)")
            }
        }
    }
}

private final class TaskOutcome<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, StoreError>?>(nil)
    private let signal: WakeSignal

    init() throws(SystemError) { signal = try WakeSignal() }

    func note(
        _ store: Result<BlobStore, StoreError>, _ body: (BlobStore) throws(StoreError) -> Value
    ) -> StoreError? {
        let outcome = Result { () throws(StoreError) in try body(try store.get()) }
        result.withLock { $0 = outcome }
        signal.notify()
        guard case .failure(let error) = outcome, case .outcomeUnknown = error else { return nil }
        return error
    }

    func wait() throws(StoreError) -> Value {
        while true {
            if let outcome = result.withLock({ $0 }) { return try outcome.get() }
            signal.wait(milliseconds: -1)
        }
    }
}
