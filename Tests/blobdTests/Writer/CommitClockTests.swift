import BlobStore
import Testing

@testable import BlobServer
@testable import blobd

/// When what is only in the log is committed.
@Suite final class CommitClockTests {
    private var clock = CommitClock()
    private static let start: Int64 = 7_000_000_000

    /// So many microseconds after the start.
    private func at(_ microseconds: Int) -> Instant {
        Instant(nanoseconds: Self.start + Int64(microseconds) * 1_000)
    }

    private func state(_ batchCount: Int) -> PendingBatches {
        var state = PendingBatches()
        state.isPending = batchCount > 0
        state.batchCount = batchCount
        state.byteCount = batchCount * 4_096
        return state
    }

    private let max = CommitClock.intervalMicrosecondsMax
    private let pause = CommitClock.pauseMicroseconds
    private let early = CommitClock.earlyMicrosecondsMin

    /// Notes what there is; nothing is left after a commit.
    private func note(_ state: PendingBatches, _ microseconds: Int, commits: UInt64 = 0) {
        clock.note(state, commitCount: commits, asOf: at(microseconds))
    }

    private func isDue(
        _ microseconds: Int, asked: UInt64 = 0, hasWaiters: Bool = false
    ) -> Bool {
        clock.isDue(
            asOf: at(microseconds), CommitClock.Demand(hasWaiters: hasWaiters, requestCount: asked))
    }

    private func isOverdue(
        _ microseconds: Int, asked: UInt64 = 0, hasWaiters: Bool = false
    ) -> Bool {
        clock.isOverdue(
            asOf: at(microseconds), CommitClock.Demand(hasWaiters: hasWaiters, requestCount: asked))
    }

    @Test("Without anything in the log it never commits, and the writer sleeps as long as it likes")
    func nothing() {
        for round in 0..<2 {
            for microseconds in [0, pause, max, 100 * max] {
                let answers = (isDue(microseconds), isOverdue(microseconds, asked: 1))
                #expect(answers == (false, false), "round \(round)")
            }
            #expect(clock.pause(asOf: at(0), hasWaiters: false) == .max)
            // Nor when there was something, and it was committed.
            note(state(1), 1)
            note(state(0), 2)
        }
    }

    @Test("It commits when nothing has come for a moment, counted from the last batch")
    func quiet() {
        note(state(1), 0)
        #expect(clock.pause(asOf: at(0), hasWaiters: false) * 1_000 >= pause)
        #expect(!isDue(pause - 1))
        note(state(2), pause - 1)
        #expect(!isDue(pause))
        #expect(!isDue(2 * pause - 2))
        // A batch that comes now does not commit what is there: it is shared by more.
        #expect(!isOverdue(2 * pause - 1))
        #expect(isDue(2 * pause - 1))
    }

    @Test("While changes keep coming it commits after a while, counted from the first")
    func busy() {
        var time = 0
        var count = 1
        while time < max {
            let answers = (isOverdue(time), isDue(time))
            #expect(answers == (false, false), "after \(time) µs")
            note(state(count), time)
            time += pause / 2
            count += 1
        }
        #expect(!isOverdue(max - 1))
        #expect(isOverdue(max))
        #expect(isDue(max))
        // Committed, it begins anew.
        note(state(0), max)
        #expect(!isOverdue(3 * max))
        note(state(1), 3 * max)
        #expect(!isOverdue(4 * max - 1))
        #expect(isOverdue(4 * max))
    }

    /// A full store was tried again every two milliseconds, and every batch was tried as a commit.
    @Test("After a commit for which there was no room it waits, twice as long after each")
    func noRoom() {
        note(state(1), 0)
        #expect(isDue(pause))
        var time = pause
        var wait = CommitClock.failureMicrosecondsMin
        for _ in 0..<6 {
            note(state(1), time)
            #expect(!isDue(time + wait - 1, asked: 9, hasWaiters: true))
            #expect(!isOverdue(time + wait - 1, asked: 9, hasWaiters: true))
            #expect(clock.pause(asOf: at(time), hasWaiters: true) * 1_000 >= wait)
            time += wait
            #expect(isDue(time))
            wait = min(2 * wait, CommitClock.failureMicrosecondsMax)
        }
        // Once there is room it is as quick as ever.
        note(state(0), time, commits: 1)
        note(state(1), time, commits: 1)
        #expect(!isDue(time + pause - 1) && isDue(time + pause))
    }

    @Test("It commits when a reader of another process asks, once for each asking")
    func requested() {
        note(state(1), 0)
        #expect(!isOverdue(1, asked: 0))
        #expect(isOverdue(1, asked: 1))
        note(state(0), 1, commits: 1)
        note(state(1), 2, commits: 1)
        #expect(!isOverdue(1 + early, asked: 1))
        #expect(isDue(1 + early, asked: 4))
    }

    /// Clients that fetched what others published made each batch a commit of its own.
    @Test("Those who read what is pending cause no commit before some time after the last one")
    func limited() {
        for isLocal in [true, false] {
            clock = CommitClock()
            // The first one at once.
            note(state(1), 0)
            #expect(isOverdue(0, asked: 1, hasWaiters: isLocal))
            note(state(0), 500, commits: 1)
            // Batches keep coming, and somebody reads after each.
            var time = 600
            while time + pause <= 500 + early {
                note(state(1), time, commits: 1)
                #expect(!isOverdue(time, asked: 2, hasWaiters: isLocal), "after \(time) µs")
                #expect(!isDue(time + pause - 1, asked: 2, hasWaiters: isLocal), "after \(time) µs")
                time += pause
            }
            // Asking was not forgotten meanwhile.
            #expect(isOverdue(500 + early, asked: 2, hasWaiters: isLocal))
            // A commit for another reason counts as well, also with something after it.
            note(state(1), 500 + early, commits: 2)
            #expect(!isOverdue(499 + 2 * early, asked: 3, hasWaiters: isLocal))
            #expect(isOverdue(500 + 2 * early, asked: 3, hasWaiters: isLocal))
        }
    }

    @Test("While readers wait the writer sleeps no longer than until it may commit")
    func pauses() {
        note(state(0), 0, commits: 1)
        note(state(1), early - 1, commits: 1)
        #expect(clock.pause(asOf: at(early - 1), hasWaiters: false) == (pause + 999) / 1_000)
        #expect(clock.pause(asOf: at(early - 1), hasWaiters: true) == 1)
        #expect(clock.pause(asOf: at(early), hasWaiters: true) == 0)
        #expect(clock.pause(asOf: at(early + pause), hasWaiters: true) == 0)
    }
}
