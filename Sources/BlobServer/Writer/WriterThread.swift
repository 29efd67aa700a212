import BlobStore
import Logging
import Synchronization

/// The one thread that changes the store, and the queue of changes for it. ``WriterLoop`` is what it
/// does.
final class WriterThread: Sendable {
    /// A change that is done in steps.
    struct LongOperation {
        var change: CheckedLongChange
        let connection: ConnectionAddress
        /// Kept until the change is done.
        let reservation: BodyReservation?
    }

    struct State {
        var waiting = ChangeBatch()
        var longOperations: [LongOperation] = []
        /// What other threads have it do.
        var tasks: [WriterTask] = []
        /// Whether the thread takes no tasks any more.
        var isEnded = false
    }

    let store: BlobStore
    let limits: LiveLimits
    let bodyMemory: BodyMemory
    let counters: DaemonCounters
    let oldestSnapshot: OldestSnapshot
    let scrub: ScrubState
    let replica: ReplicaStatus
    let log: Logger
    let state = Mutex(State())
    let thread: ServiceThread
    /// Called once, when a sync has failed. Nothing may be synced again in this process.
    let onOutcomeUnknown: @Sendable () -> Void

    init(
        _ store: BlobStore, limits: LiveLimits, bodyMemory: BodyMemory,
        counters: DaemonCounters, oldestSnapshot: OldestSnapshot, scrub: ScrubState,
        replica: ReplicaStatus, log: Logger,
        onOutcomeUnknown: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        self.store = store
        self.limits = limits
        self.bodyMemory = bodyMemory
        self.counters = counters
        self.oldestSnapshot = oldestSnapshot
        self.scrub = scrub
        self.replica = replica
        self.log = log
        self.onOutcomeUnknown = onOutcomeUnknown
        thread = try ServiceThread()
    }

    /// Starts the thread.
    func start() throws(SystemError) {
        try thread.start("blobd-writer") { [self] in
            var loop = WriterLoop(self)
            loop.run()
        }
    }

    /// Puts a change in the queue. The queue needs no limit: each connection waits for one change at a
    /// time.
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

    /// Applies what is queued and ends the thread. A long change ends after its current step: what is
    /// done of it stays done, and the client may ask again.
    func close() { thread.close() }
}
