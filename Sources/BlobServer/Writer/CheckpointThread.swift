import BlobStore
import CLinux
import Logging
import Synchronization

/// Commits what is in the write-ahead log, while the writer's thread goes on.
final class CheckpointThread: Sendable {
    private let context: DaemonContext
    private let thread: ServiceThread
    private let isMuch = Atomic(false)
    private let hasWaiters = Atomic(false)

    init(_ context: DaemonContext) throws(SystemError) {
        self.context = context
        thread = try ServiceThread()
    }

    /// - Parameter writer: told of each commit, and of the failure after which nothing may be synced again.
    func start(for writer: WriterThread) throws(SystemError) {
        // Kept by the store until it is closed.
        context.store.onPending { [self] batches in
            if batches.isMuch {
                if !isMuch.exchange(true, ordering: .relaxed) { thread.wake() }
            } else if batches.batchCount == 1 {
                thread.wake()
            }
        }
        try thread.start("blobd-commit") { [self, unowned writer] in
            clinux_lower_priority()
            run(for: writer)
        }
    }

    /// Has what is pending committed soon: somebody waits for it.
    func ask() {
        hasWaiters.store(true, ordering: .relaxed)
        thread.wake()
    }

    func close() {
        context.store.onPending(nil)
        thread.close()
    }

    private func run(for writer: WriterThread) {
        var clock = CheckpointClock()
        let counts = context.store.pendingCounts
        while !thread.isClosing {
            let demand = CheckpointClock.Demand(
                batchCount: counts.batchCount,
                isMuch: isMuch.load(ordering: .relaxed),
                hasWaiters: hasWaiters.load(ordering: .relaxed),
                requestCount: counts.commitRequestCount,
                isShipped: context.replica.role == .leader)
            guard let pause = clock.pause(asOf: .now, demand) else {
                // What it was set for is committed: the next batch wakes this thread.
                isMuch.store(false, ordering: .relaxed)
                thread.wait(milliseconds: -1)
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
            let failure = commit()
            clock.noteEnd(asOf: .now, hasFailed: failure != nil)
            if case .outcomeUnknown = failure {
                // The writer's next change fails, and ends the process.
                _ = Result { () throws(StoreError) in
                    try writer.write { (store) throws(StoreError) in try store.commitPending() }
                }
                return
            }
            writer.thread.wake()
            if context.replica.role == .leader { context.replica.signal.notify() }
        }
    }

    /// Where it cannot be committed it stays in the log, and readable; the clock has it tried again.
    private func commit() -> StoreError? {
        do throws(StoreError) {
            try context.store.checkpoint()
            return nil
        } catch {
            switch error {
            // Publishes are refused meanwhile, which is logged.
            case .full, .outcomeUnknown: break
            default:
                context.log.error(
                    "Cannot commit what is in changes.log, and tries again: \(error)")
            }
            return error
        }
    }
}
