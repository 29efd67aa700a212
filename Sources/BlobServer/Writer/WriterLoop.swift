import BlobStore
import Glibc
import Logging
import Synchronization

/// The loop of the writer's thread: it applies a batch of changes and completes its waiters. Then it does one step of a
/// long change, announces edits of categories, and does maintenance if it is due.
struct WriterLoop {
    private static let batchCountMax = 1_024
    /// Orphaned bytes that are freed in one transaction together with changes.
    private static let freedWithChangesByteCountMax = 8 << 20

    private let writer: WriterThread
    private let context: DaemonContext
    private let store: BlobStore
    private var commitWaiters = CommitWaiters()
    private var edits: CategoryAnnouncements
    private var readiness: StoreReadiness
    private var maintenance: WriterMaintenance
    private var longOperation: WriterThread.LongOperation?

    init(_ writer: WriterThread) {
        self.writer = writer
        context = writer.context
        store = context.store
        edits = CategoryAnnouncements(context.log)
        readiness = StoreReadiness(context.log)
        maintenance = WriterMaintenance(context)
    }

    mutating func run() {
        do throws(StoreError) {
            try serve()
        } catch {
            refuseAll(error)
        }
    }

    /// - Throws: the error after which nothing may be synced again.
    private mutating func serve() throws(StoreError) {
        while true {
            context.counters.writerProgress.answer()
            let (batch, tasks, isClosing) = takeBatch()
            do throws(StoreError) {
                if !tasks.isEmpty { try run(tasks) }
            } catch {
                batch.complete { _ in .failed(error) }
                throw error
            }
            if !batch.isEmpty {
                try apply(batch)
                // Lets clients that immediately send another change join the next batch: half as many syncs if they
                // share a core.
                sched_yield()
            } else if isClosing {
                return try end()
            }
            let hasAdvanced = try advanceLongOperation()
            let hasAnnounced = try edits.announce(in: store)
            let now = Instant.now
            if maintenance.isDue(asOf: now) { try maintenance.run(asOf: now) }
            commitWaiters.completeCommitted(in: store)
            if !commitWaiters.isEmpty { store.checkpoints?.ask() }
            // After the last step of a long change, another one may be queued.
            if batch.isEmpty, !hasAdvanced, !hasAnnounced { wait(asOf: .now) }
        }
    }

    private mutating func takeBatch() -> (
        batch: ChangeBatch, tasks: [WriterThread.StoreTask], isClosing: Bool
    ) {
        // Read first, so that everything queued before the end is done.
        let isClosing = writer.thread.isClosing
        return writer.state.withLock { state in
            if longOperation == nil, !state.longOperations.isEmpty {
                longOperation = state.longOperations.removeFirst()
            }
            let tasks = state.tasks
            if !tasks.isEmpty { state.tasks = [] }
            return (state.waiting.take(Self.batchCountMax), tasks, isClosing)
        }
    }

    private mutating func run(_ tasks: [WriterThread.StoreTask]) throws(StoreError) {
        var failure: StoreError?
        for task in tasks {
            // After a failure, the other tasks get the error, too.
            let given: Result<BlobStore, StoreError> =
                if let failure { .failure(failure) } else { .success(store) }
            failure = task(given) ?? failure
        }
        if let failure { throw failure }
    }

    private func wait(asOf now: Instant) {
        writer.thread.wait(milliseconds: maintenance.pause(asOf: now))
    }

    private mutating func apply(_ batch: ChangeBatch) throws(StoreError) {
        if batch.hasCommitWaiters {
            commitWaiters.add(from: batch, transaction: store.pendingCounts.lastTransaction)
        }
        var outcomes: [Outcome] = []
        let before = store.lastSequence
        if !batch.changes.isEmpty {
            if let refusal = context.replica.refusal {
                return batch.refuse(with: .refused(refusal))
            }
            do throws(StoreError) {
                // Changes that replace others orphan about as many bytes, which are freed in the same commits.
                outcomes = try store.apply(
                    checked: batch.changes, asOf: .now, freeing: Self.freedWithChangesByteCountMax,
                    bootMilliseconds: .bootMilliseconds)
            } catch {
                batch.refuse(with: .failed(error))
                throw error
            }
            context.counters.batches.add()
        }
        // What had no effect comes after the last one.
        let last = store.lastSequence
        try complete(batch, outcomes, in: BatchSpan(first: min(before + 1, last), last: last))
    }

    private mutating func complete(
        _ batch: ChangeBatch, _ outcomes: consuming [Outcome], in span: BatchSpan
    ) throws(StoreError) {
        var failure: StoreError?
        var next = 0
        // Outcomes are removed from the end, which copies none.
        outcomes.reverse()
        batch.complete(in: span) { waiter in
            switch waiter.completion {
            case .waitForCommit: return nil
            case .check:
                return readiness.check(store, &failure)
            case .change:
                // Through the span, which reads a change without copying it.
                let result = result(
                    outcomes.removeLast(), of: batch.changes.span[next].change, &failure)
                defer { next += 1 }
                guard store.hasCategoryEdits, result.isChange,
                    batch.changes.span[next].change.isCategoryEdit
                else { return result }
                edits.complete(waiter.connection, with: result, in: span)
                return nil
            case .lines(let lines, _):
                return .lines(
                    lines.map { line in
                        if let error = line.refused {
                            return BatchLine.Answered(id: line.id, result: .refused(error))
                        }
                        defer { next += 1 }
                        return BatchLine.Answered(
                            id: line.id,
                            result: result(
                                outcomes.removeLast(), of: batch.changes[next].change, &failure))
                    })
            }
        }
        if let failure { throw failure }
    }

    /// The result for a connection. Counts the outcome.
    private mutating func result(
        _ outcome: consuming Outcome, of change: Change, _ failure: inout StoreError?
    ) -> ChangeResult {
        let counters = context.counters
        switch outcome {
        case .published:
            counters.publishes.add()
            readiness.noteStored(store, &failure)
        case .held: readiness.noteStored(store, &failure)
        case .deleted:
            if case .removeCategory = change { break }
            counters.deletes.add()
        case .changed:
            if case .respond = change { counters.responses.add() } else { counters.patches.add() }
        case .refused(let error):
            switch error {
            case .full: readiness.noteFull(store, &failure)
            case .quotaExceeded(let excess): readiness.note(excess)
            default: break
            }
            return .failed(error)
        case .notFound, .unchanged, .categorySet: break
        }
        return .applied(outcome)
    }

    /// Does one step of the long change, so that no other change waits longer than a step takes.
    private mutating func advanceLongOperation() throws(StoreError) -> Bool {
        guard var current = longOperation.take() else { return false }
        if let refusal = context.replica.refusal {
            current.connection.post(.changed(.refused(refusal.after(current.change.change))))
            return true
        }
        do throws(StoreError) {
            let isDone = try store.advance(&current.change, asOf: .now)
            context.counters.batches.add()
            if isDone {
                let done = current.change.change
                if done.damaged > 0 {
                    let ids = done.damagedIDs.joined(separator: ", ")
                    context.log.error(
                        "A change of many has left \(done.damaged) damaged notifications as they were (\(ids)). Run blobd verify"
                    )
                }
                current.connection.post(
                    .changed(.long(current.change.change), in: BatchSpan(store.lastSequence)))
            } else {
                longOperation = current
            }
        } catch {
            current.connection.post(
                .changed(
                    .stopped(current.change.change, error), in: BatchSpan(store.lastSequence)))
            if case .outcomeUnknown = error { throw error }
        }
        return true
    }

    /// Commits what is pending.
    private mutating func end() throws(StoreError) {
        // The edits are done. The next run announces the rest.
        edits.completeAll()
        writer.endTasks(.io(operation: "stop", errno: 0))
        // Without room, the next run begins at the position that was last written.
        if let position = context.scrub.takePosition() {
            try ignoringFull { () throws(StoreError) in try store.write(position) }
        }
        try store.close()
        commitWaiters.completeCommitted(in: store)
    }

    private func ignoringFull(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        do throws(StoreError) {
            try body()
        } catch {
            guard case .full = error else { throw error }
        }
    }

    /// A sync has failed: refuses all changes until the thread is closed.
    private mutating func refuseAll(_ failure: StoreError) {
        context.log.critical("The outcome of a commit is unknown; stopping: \(failure)")
        writer.onOutcomeUnknown()
        edits.completeAll()
        writer.endTasks(failure)
        commitWaiters.completeAll(with: .failed(failure))
        while true {
            let (batch, _, isClosing) = takeBatch()
            batch.complete { _ in .failed(failure) }
            let long = longOperation.take()
            long?.connection.post(.changed(.failed(failure)))
            guard batch.isEmpty, long == nil else { continue }
            if isClosing { return }
            writer.thread.wait(milliseconds: -1)
        }
    }
}
