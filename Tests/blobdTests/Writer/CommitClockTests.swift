import BlobStore
import Testing

@testable import BlobServer
@testable import blobd

/// When what is in the log alone is committed.
@Suite struct CommitClockTests {
    private static let start: Int64 = 7_000_000_000

    /// So many microseconds behind the start.
    private func at(_ microseconds: Int) -> Instant {
        Instant(nanoseconds: Self.start + Int64(microseconds) * 1_000)
    }

    private func state(_ batchCount: Int, isAwaited: Bool = false) -> PendingBatches {
        var state = PendingBatches()
        state.isPending = batchCount > 0
        state.isAwaited = isAwaited
        state.batchCount = batchCount
        state.byteCount = batchCount * 4_096
        return state
    }

    private let max = DaemonLimits.commitIntervalMicrosecondsMax
    private let pause = DaemonLimits.commitPauseMicroseconds
    private let early = DaemonLimits.earlyCommitMicrosecondsMin

    /// Notes what there is; nothing is left after a commit.
    private func note(
        _ clock: inout CommitClock, _ state: PendingBatches, _ microseconds: Int,
        commits: UInt64 = 0
    ) {
        clock.note(state, commitCount: commits, asOf: at(microseconds))
    }

    private func isDue(
        _ clock: inout CommitClock, _ microseconds: Int, asked: UInt64 = 0,
        hasWaiters: Bool = false
    ) -> Bool {
        clock.isDue(
            asOf: at(microseconds), CommitClock.Demand(hasWaiters: hasWaiters, requestCount: asked))
    }

    private func isOverdue(
        _ clock: inout CommitClock, _ microseconds: Int, asked: UInt64 = 0,
        hasWaiters: Bool = false
    ) -> Bool {
        clock.isOverdue(
            asOf: at(microseconds), CommitClock.Demand(hasWaiters: hasWaiters, requestCount: asked))
    }

    @Test("Without anything in the log it never commits, and the writer sleeps as long as it likes")
    func nothing() {
        var clock = CommitClock()
        for round in 0..<2 {
            for microseconds in [0, pause, max, 100 * max] {
                let answers = (
                    isDue(&clock, microseconds), isOverdue(&clock, microseconds, asked: 1)
                )
                #expect(answers == (false, false), "round \(round)")
            }
            #expect(clock.pause(asOf: at(0), hasWaiters: false) == .max)
            // Nor when there was something, and it was committed.
            note(&clock, state(1), 1)
            note(&clock, state(0), 2)
        }
    }

    @Test("It commits when nothing has come for a moment, counted from the last batch")
    func quiet() {
        var clock = CommitClock()
        note(&clock, state(1), 0)
        #expect(clock.pause(asOf: at(0), hasWaiters: false) * 1_000 >= pause)
        var answer = isDue(&clock, pause - 1)
        #expect(!answer)
        note(&clock, state(2), pause - 1)
        answer = isDue(&clock, pause)
        #expect(!answer)
        answer = isDue(&clock, 2 * pause - 2)
        #expect(!answer)
        // A batch that comes now does not commit what is there: it is shared by more.
        answer = isOverdue(&clock, 2 * pause - 1)
        #expect(!answer)
        answer = isDue(&clock, 2 * pause - 1)
        #expect(answer)
    }

    @Test("While changes keep coming it commits after a while, counted from the first")
    func busy() {
        var clock = CommitClock()
        var time = 0
        var count = 1
        while time < max {
            let answers = (isOverdue(&clock, time), isDue(&clock, time))
            #expect(answers == (false, false), "after \(time) µs")
            note(&clock, state(count), time)
            time += pause / 2
            count += 1
        }
        var answer = isOverdue(&clock, max - 1)
        #expect(!answer)
        answer = isOverdue(&clock, max)
        #expect(answer)
        answer = isDue(&clock, max)
        #expect(answer)
        // Committed, it begins anew.
        note(&clock, state(0), max)
        answer = isOverdue(&clock, 3 * max)
        #expect(!answer)
        note(&clock, state(1), 3 * max)
        answer = isOverdue(&clock, 4 * max - 1)
        #expect(!answer)
        answer = isOverdue(&clock, 4 * max)
        #expect(answer)
    }

    @Test(
        "Where somebody waits it commits as soon as nothing else is to be done, or after a moment")
    func awaited() {
        var clock = CommitClock()
        note(&clock, state(1, isAwaited: true), 0)
        #expect(clock.pause(asOf: at(0), hasWaiters: false) == 0)
        var answer = isDue(&clock, 0)
        #expect(answer)
        answer = isOverdue(&clock, pause - 1)
        #expect(!answer)
        answer = isOverdue(&clock, pause)
        #expect(answer)
        note(&clock, state(0), pause)
        #expect(clock.pause(asOf: at(0), hasWaiters: false) == .max)
        answer = isDue(&clock, 2 * pause)
        #expect(!answer)
    }

    @Test("It commits when a reader of another process asks, once for each asking")
    func requested() {
        var clock = CommitClock()
        note(&clock, state(1), 0)
        var answer = isOverdue(&clock, 1, asked: 0)
        #expect(!answer)
        answer = isOverdue(&clock, 1, asked: 1)
        #expect(answer)
        note(&clock, state(0), 1, commits: 1)
        note(&clock, state(1), 2, commits: 1)
        answer = isOverdue(&clock, 1 + early, asked: 1)
        #expect(!answer)
        answer = isDue(&clock, 1 + early, asked: 4)
        #expect(answer)
    }

    /// Clients that fetched what others published made each batch a commit of its own.
    @Test("Those who read what is pending cause no commit before some time after the last one")
    func limited() {
        for isLocal in [true, false] {
            var clock = CommitClock()
            // The first one at once.
            note(&clock, state(1), 0)
            var answer = isOverdue(&clock, 0, asked: 1, hasWaiters: isLocal)
            #expect(answer)
            note(&clock, state(0), 500, commits: 1)
            // Batches keep coming, and somebody reads after each.
            var time = 600
            while time + pause <= 500 + early {
                note(&clock, state(1), time, commits: 1)
                answer = isOverdue(&clock, time, asked: 2, hasWaiters: isLocal)
                #expect(!answer, "after \(time) µs")
                answer = isDue(&clock, time + pause - 1, asked: 2, hasWaiters: isLocal)
                #expect(!answer, "after \(time) µs")
                time += pause
            }
            // Asking was not forgotten meanwhile.
            answer = isOverdue(&clock, 500 + early, asked: 2, hasWaiters: isLocal)
            #expect(answer)
            // A commit for another reason counts as well, also with something behind it.
            note(&clock, state(1), 500 + early, commits: 2)
            answer = isOverdue(&clock, 499 + 2 * early, asked: 3, hasWaiters: isLocal)
            #expect(!answer)
            answer = isOverdue(&clock, 500 + 2 * early, asked: 3, hasWaiters: isLocal)
            #expect(answer)
        }
    }

    @Test("While readers wait the writer sleeps no longer than until it may commit")
    func pauses() {
        var clock = CommitClock()
        note(&clock, state(0), 0, commits: 1)
        note(&clock, state(1), early - 1, commits: 1)
        let idle = clock.pause(asOf: at(early - 1), hasWaiters: false)
        #expect(idle == (pause + 999) / 1_000)
        #expect(clock.pause(asOf: at(early - 1), hasWaiters: true) == 1)
        #expect(clock.pause(asOf: at(early), hasWaiters: true) == 0)
        #expect(clock.pause(asOf: at(early + pause), hasWaiters: true) == 0)
    }
}
