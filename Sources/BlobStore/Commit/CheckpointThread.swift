internal import CLinux
internal import Glibc
internal import Synchronization

/// What a program wants of the thread that commits, besides. It is called on that thread.
package struct CheckpointHost: Sendable {
    /// Whether what is committed is shipped, and so committed sooner.
    package var isShipped: @Sendable () -> Bool = { false }
    /// Called after each attempt to commit, unless nothing may be synced any more.
    package var attempted: @Sendable () -> Void = {}
    /// Called with what could not be done and will be tried again; after ``StoreError/outcomeUnknown(_:)`` nothing is.
    package var failed: @Sendable (_ work: StaticString, StoreError) -> Void = { _, _ in }

    package init() {}
}

/// Commits what is in the write-ahead log, while changes go on. It keeps the parts of a store, and never the store itself,
/// which ends it.
package final class CheckpointThread: Sendable {
    /// How often it is tried to begin a log for which there was no room.
    private static let loggingPauseMilliseconds = 10_000

    private let pipeline: CommitPipeline
    private let thread: ServiceThread
    private let host = Mutex(CheckpointHost())
    private let isMuch = Atomic(false)
    private let hasWaiters = Atomic(false)

    init(_ pipeline: CommitPipeline) throws(SystemError) {
        self.pipeline = pipeline
        thread = try ServiceThread()
    }

    func start() throws(SystemError) {
        try thread.start("blobd-commit") { [self] in
            Self.leaveSignals()
            clinux_lower_priority()
            run()
        }
        pipeline.onPending { [self] batches in
            if batches.isMuch {
                if !isMuch.exchange(true, ordering: .relaxed) { thread.wake() }
            } else if batches.batchCount == 1 {
                thread.wake()
            }
        }
    }

    /// Leaves signals to the program's own threads, but those of a fault, which are the faulting thread's.
    private static func leaveSignals() {
        var signals = sigset_t()
        sigfillset(&signals)
        for fault in [SIGBUS, SIGSEGV, SIGABRT, SIGILL, SIGTRAP, SIGFPE] {
            sigdelset(&signals, fault)
        }
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// From now on until it is closed.
    package func serve(_ newHost: CheckpointHost) {
        host.withLock { $0 = newHost }
        wake()
    }

    /// Has what is pending committed soon: somebody waits for it.
    package func ask() {
        hasWaiters.store(true, ordering: .relaxed)
        wake()
    }

    /// Has it look whether something is to be done.
    func wake() { thread.wake() }

    /// Ends it, after the commit that is under way.
    package func close() {
        pipeline.onPending(nil)
        thread.close()
        host.withLock { $0 = CheckpointHost() }
    }

    var isClosed: Bool { thread.isClosing }

    private func run() {
        var clock = CheckpointClock()
        let counts = pipeline.pending
        while !thread.isClosing {
            let host = host.withLock { $0 }
            let demand = CheckpointClock.Demand(
                batchCount: counts.batchCount,
                isMuch: isMuch.load(ordering: .relaxed),
                hasWaiters: hasWaiters.load(ordering: .relaxed),
                requestCount: counts.commitRequestCount,
                isShipped: host.isShipped())
            guard let pause = clock.pause(asOf: .now, demand) else {
                // What it was set for is committed: the next batch wakes this thread.
                isMuch.store(false, ordering: .relaxed)
                guard pipeline.lacksLog else {
                    thread.wait(milliseconds: -1)
                    continue
                }
                let failure = attempt("begin the write-ahead log", host) {
                    () throws(StoreError) in
                    if try pipeline.resumeLogging() {
                        pipeline.core.options.onLogNotice?(.hasRoomAgain)
                    }
                }
                if case .outcomeUnknown = failure { return }
                thread.wait(milliseconds: Self.loggingPauseMilliseconds)
                continue
            }
            guard pause <= 0 else {
                let microseconds = min(pause, CheckpointClock.lookMicroseconds)
                thread.wait(milliseconds: (microseconds + 999) / 1_000)
                continue
            }
            isMuch.store(false, ordering: .relaxed)
            hasWaiters.store(false, ordering: .relaxed)
            clock.noteBegin(demand)
            let failure = attempt("commit what is in changes.log", host) {
                () throws(StoreError) in
                try pipeline.checkpointOrCommit()
            }
            clock.noteEnd(asOf: .now, hasFailed: failure != nil)
            if case .outcomeUnknown = failure { return }
            host.attempted()
        }
    }

    /// What cannot be committed stays in the log, and readable; it is tried again.
    private func attempt(
        _ work: StaticString, _ host: CheckpointHost, _ body: () throws(StoreError) -> Void
    ) -> StoreError? {
        do throws(StoreError) {
            try body()
            return nil
        } catch {
            host.failed(work, error)
            return error
        }
    }
}
