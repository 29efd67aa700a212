import BlobStore
import CLinux
import Glibc
import Logging
import Synchronization

extension WriterThread {
    /// What the thread does, with the state that is its own.
    struct WriterLoop {
        private let writer: WriterThread
        private var clock = ExpiryClock()
        private var nextSweep = Instant.now
        private var nextReaderCheck = Instant.now
        private var isFull = false
        private var failure: StoreError?
        private var errorLog: RateLimitedLog
        /// The long change that is under way.
        private var longOperation: LongOperation?
        private var commitClock = CommitClock()
        /// Connections that wait until what was acknowledged is committed.
        private var readers: [PendingReader] = []

        /// A connection that waits for a commit, and how many there had been when it asked.
        private struct PendingReader {
            let connection: ConnectionAddress
            let commitCount: UInt64
        }
        /// What the last probe found, and until when that is good.
        private var readiness: (result: ChangeResult, end: Instant)?
        /// Whether owners may have to be told of a category's edit.
        private var hasCategoryEdits = false
        /// Who made those edits: answered when all owners are told.
        private var categoryEditors: [(connection: ConnectionAddress, result: ChangeResult)] = []

        init(_ writer: WriterThread) {
            self.writer = writer
            errorLog = RateLimitedLog(writer.log)
        }

        mutating func run() {
            while true {
                let (batch, isClosed) = take()
                if !batch.waiters.isEmpty {
                    answer(batch)
                    noteCommits()
                    // Those who were answered and ask again at once come into the next batch, where
                    // this thread shares a core with them: half as many syncs.
                    sched_yield()
                } else if isClosed {
                    return end()
                } else if commitClock.isDue(
                    asOf: .now, commitRequestCount: writer.store.pendingKeys.commitRequestCount)
                {
                    commitPending()
                }
                let hasAdvanced = advance()
                let hasTold = announceCategoryEdits()
                let now = Instant.now
                if now >= nextSweep { keep(asOf: now) }
                answerReaders()
                // Behind a long change that is done another may be in the queue.
                if batch.waiters.isEmpty, !hasAdvanced, !hasTold {
                    let pause = max(0, nextSweep.milliseconds(since: now) + 1)
                    writer.signal.wait(milliseconds: min(pause, commitClock.pause(asOf: now)))
                }
            }
        }

        private mutating func take() -> (batch: ChangeBatch, isClosed: Bool) {
            writer.state.withLock { state in
                if longOperation == nil, !state.longOperations.isEmpty {
                    longOperation = state.longOperations.removeFirst()
                }
                return (state.waiting.take(DaemonLimits.changeBatchCountMax), state.isClosed)
            }
        }

        /// Does one step of the long change, so that nobody else waits longer than that takes.
        ///
        /// - Returns: whether there was one.
        private mutating func advance() -> Bool {
            guard var current = longOperation else { return false }
            if let failure {
                longOperation = nil
                current.connection.post(.changed(.failed(failure)))
                return true
            }
            do throws(StoreError) {
                let isDone = try writer.store.advance(&current.change, asOf: .now)
                writer.counters.batches.add()
                longOperation = isDone ? nil : current
                if isDone { current.connection.post(.changed(.long(current.change))) }
            } catch {
                longOperation = nil
                if case .outcomeUnknown = error { fail(error) }
                current.connection.post(.changed(.failed(error)))
            }
            return true
        }

        /// Does one step of telling owners of a category's edit, and answers those who made it when
        /// that was the last one: who asks for changes after the answer finds the queue.
        ///
        /// - Returns: whether there was one.
        private mutating func announceCategoryEdits() -> Bool {
            guard hasCategoryEdits else { return false }
            hasCategoryEdits = false
            guard failure == nil else {
                answerCategoryEditors()
                return false
            }
            do throws(StoreError) {
                hasCategoryEdits = try writer.store.announceCategoryEdits(asOf: .now)
            } catch {
                // The edit is done. A later sweep goes on where this ended.
                if case .outcomeUnknown = error {
                    fail(error)
                } else {
                    errorLog.note(
                        .error, "Cannot publish a category's change to its owners: \(error)")
                }
            }
            if !hasCategoryEdits { answerCategoryEditors() }
            return true
        }

        private mutating func answerCategoryEditors() {
            for editor in categoryEditors { editor.connection.post(.changed(editor.result)) }
            categoryEditors = []
        }

        private mutating func answer(_ batch: ChangeBatch) {
            if let failure { return complete(batch) { _ in .failed(failure) } }
            take(readersOf: batch)
            var outcomes: [Outcome] = []
            if !batch.changes.isEmpty {
                do throws(StoreError) {
                    // What replaces others leaves about as many bytes behind, which must not pile up
                    // until the clock says so: they are freed in the same commits.
                    let isCommitting = commitClock.isOverdue(
                        asOf: .now, commitRequestCount: writer.store.pendingKeys.commitRequestCount)
                    outcomes = try writer.store.apply(
                        batch.changes, asOf: .now,
                        freeing: DaemonLimits.freedWithChangesByteCountMax,
                        bootMilliseconds: .bootMilliseconds, isCommitting: isCommitting)
                    writer.counters.batches.add()
                } catch {
                    fail(error)
                    return complete(batch) { _ in .failed(error) }
                }
            }
            var next = 0
            // Taken out from the end, one by one, and not copied.
            outcomes.reverse()
            complete(batch) { waiter in
                switch waiter.completion {
                case .check: return check()
                case .waitForCommit: return nil
                case .change:
                    next += 1
                    let result = result(outcomes.removeLast(), of: batch.changes, at: next - 1)
                    guard writer.store.hasCategoryEdits, result.isCategoryEdit,
                        batch.changes[next - 1].isCategoryEdit
                    else { return result }
                    hasCategoryEdits = true
                    categoryEditors.append((waiter.connection, result))
                    return nil
                case .lines(let lines):
                    return .lines(
                        lines.map { line in
                            if let error = line.refused {
                                return BatchLine.Answered(id: line.id, result: .refused(error))
                            }
                            next += 1
                            return BatchLine.Answered(
                                id: line.id,
                                result: result(
                                    outcomes.removeLast(), of: batch.changes, at: next - 1))
                        })
                }
            }
        }

        /// Takes note of those in a batch who wait for a commit: not of the batch itself, but of what
        /// was acknowledged before they asked.
        private mutating func take(readersOf batch: ChangeBatch) {
            guard batch.hasReaders else { return }
            let commitCount = writer.store.pendingKeys.commitCount
            for waiter in batch.waiters {
                guard case .waitForCommit = waiter.completion else { continue }
                readers.append(
                    PendingReader(connection: waiter.connection, commitCount: commitCount))
            }
            commitClock.hasReaders = !readers.isEmpty
        }

        /// Tells those who wait for a commit that there was one, or that nothing is pending.
        private mutating func answerReaders() {
            guard !readers.isEmpty else { return }
            let pendingKeys = writer.store.pendingKeys
            // The count first: where it has not changed since they asked, what they asked for is
            // still pending, unless nothing is.
            let commitCount = pendingKeys.commitCount
            let isEmpty = pendingKeys.isEmpty
            var asleep: [WorkerInbox] = []
            readers.removeAll { reader in
                guard failure != nil || isEmpty || reader.commitCount != commitCount else {
                    return false
                }
                let result: ChangeResult = failure.map { .failed($0) } ?? .committed
                if reader.connection.leave(.changed(result)) {
                    asleep.append(reader.connection.inbox)
                }
                return true
            }
            commitClock.hasReaders = !readers.isEmpty
            for inbox in asleep { inbox.wake() }
        }

        /// Tells everyone in a batch what came of it, and wakes each worker once: one that woke for
        /// the first answer would take the processor from this thread, and find one at a time.
        ///
        /// - Parameter result: is asked for each waiter, in their order; nil: it is told later.
        private func complete(
            _ batch: ChangeBatch, _ result: (_ waiter: ChangeBatch.Waiter) -> ChangeResult?
        ) {
            var asleep: [WorkerInbox] = []
            for waiter in batch.waiters {
                guard let result = result(waiter) else { continue }
                if waiter.connection.leave(.changed(result)) {
                    asleep.append(waiter.connection.inbox)
                }
            }
            for inbox in asleep { inbox.wake() }
        }

        private mutating func result(
            _ outcome: consuming Outcome, of changes: [Change], at index: Int
        ) -> ChangeResult {
            switch consume outcome {
            case .published(let record, let created):
                writer.counters.publishes.add()
                noteFull(false)
                return .published(record, created: created)
            case .deleted:
                if case .removeCategory = changes[index] { return .deleted }
                writer.counters.deletes.add()
                return .deleted
            case .notFound:
                return .notFound
            case .changed(let record):
                switch changes[index] {
                case .respond: writer.counters.responses.add()
                default: writer.counters.patches.add()
                }
                return .changed(record)
            case .unchanged(let record): return .unchanged(record)
            case .held(let blob, let created):
                noteFull(false)
                return .held(blob, created: created)
            case .categorySet(let category, let created):
                return .categorySet(category, created: created)
            case .refused(let error):
                if case .full = error { noteFull(true) }
                return .failed(error)
            }
        }

        /// Commits what is in the log alone.
        private mutating func commitPending() {
            guard failure == nil else { return }
            do throws(StoreError) {
                try writer.store.commitPending()
                noteCommits()
            } catch {
                fail(error)
            }
        }

        private mutating func noteCommits() {
            commitClock.note(
                writer.store.pendingChanges, commitCount: writer.store.pendingKeys.commitCount,
                asOf: .now)
        }

        /// Before the thread ends, which the open transaction belongs to.
        private mutating func end() {
            // They are done; the next run tells the rest of the owners.
            answerCategoryEditors()
            if failure == nil {
                do throws(StoreError) {
                    try writer.store.endLogging()
                } catch {
                    fail(error)
                }
            }
            answerReaders()
        }

        /// What a probe is told: whether a publish could be stored. It is tried at most once in
        /// ``DaemonLimits/readinessMilliseconds``, however many ask.
        private mutating func check() -> ChangeResult {
            let now = Instant.now
            if let readiness, now < readiness.end { return readiness.result }
            var result = ChangeResult.writable
            do throws(StoreError) {
                try writer.store.checkWritable()
            } catch {
                if case .outcomeUnknown = error { fail(error) }
                result = .failed(error)
            }
            readiness = (result, now.after(milliseconds: DaemonLimits.readinessMilliseconds))
            return result
        }

        /// One log line when the store becomes full, and one when it no longer is.
        private mutating func noteFull(_ isFull: Bool) {
            if isFull { readiness = nil }
            guard isFull != self.isFull else { return }
            self.isFull = isFull
            if isFull {
                writer.log.error(
                    "No space: publishes are refused; reads, deletes and expiry continue")
            } else {
                writer.log.notice("Space is available again: publishes are accepted")
            }
        }

        private mutating func fail(_ error: StoreError) {
            guard failure == nil else { return }
            failure = error
            writer.log.critical("The outcome of a commit is unknown; stopping: \(error)")
            writer.onOutcomeUnknown()
        }

        /// Removes what has expired and frees what nobody refers to, each in bounded steps.
        private mutating func keep(asOf now: Instant) {
            nextSweep = now.after(milliseconds: writer.limits.sweepMilliseconds)
            // Costs some milliseconds where bodies had much, and is not done again before they have.
            if writer.bodyMemory.takeShouldTrim() { clinux_trim_memory() }
            guard failure == nil else { return }
            var hasMore = false
            do throws(StoreError) {
                if mayDelete() {
                    let swept = try writer.store.sweepExpired(
                        asOf: .now, limit: DaemonLimits.sweepCountMax)
                    writer.counters.expired.add(swept.expired)
                    hasMore = swept.more
                    if swept.damaged > 0 {
                        errorLog.note(
                            .error,
                            "Cannot remove \(swept.damaged) damaged expired notifications; run blobd verify"
                        )
                    }
                }
                let freed = try writer.store.freeOrphans(
                    byteCountMax: DaemonLimits.freedByteCountMax,
                    bootMilliseconds: .bootMilliseconds)
                hasMore = hasMore || freed.more
                try writer.store.trimFile()
                if now >= nextReaderCheck {
                    nextReaderCheck = now.after(milliseconds: DaemonLimits.readerCheckMilliseconds)
                    let dead = try writer.store.checkReaders()
                    if dead > 0 { writer.log.notice("Freed the slots of \(dead) dead readers") }
                }
            } catch {
                if case .outcomeUnknown = error {
                    fail(error)
                } else {
                    errorLog.note(.error, "Cannot remove expired notifications: \(error)")
                }
            }
            // Come back right after the changes that wait meanwhile.
            if hasMore { nextSweep = now }
        }

        private mutating func mayDelete() -> Bool {
            switch clock.tick() {
            case .steady: return true
            case .paused: return false
            case .jumped(let milliseconds):
                writer.counters.clockJumps.add()
                writer.log.warning(
                    "The wall clock jumped by \(milliseconds / 1_000) s against the boot clock; expiry is paused for \(ExpiryClock.pauseMilliseconds / 60_000) minutes"
                )
                return false
            }
        }
    }
}
