import BlobStore
import Testing

@testable import blobd

/// When what is in the log alone is committed.
@Suite struct SettlingClockTests {
    private static let start: Int64 = 7_000_000_000

    /// So many microseconds behind the start.
    private func at(_ microseconds: Int) -> Instant {
        Instant(nanoseconds: Self.start + Int64(microseconds) * 1_000)
    }

    private func state(_ batchCount: Int, isAwaited: Bool = false) -> BlobStore.Unsettled {
        var state = BlobStore.Unsettled()
        state.isPending = batchCount > 0
        state.isAwaited = isAwaited
        state.batchCount = batchCount
        state.byteCount = batchCount * 4_096
        return state
    }

    private let max = DaemonLimits.settlingMicrosecondsMax
    private let pause = DaemonLimits.settlingPauseMicroseconds

    private func isDue(_ clock: inout SettlingClock, _ microseconds: Int, asked: UInt64 = 0) -> Bool
    {
        clock.isDue(asOf: at(microseconds), hurryCount: asked)
    }

    private func isOverdue(
        _ clock: inout SettlingClock, _ microseconds: Int, asked: UInt64 = 0
    ) -> Bool {
        clock.isOverdue(asOf: at(microseconds), hurryCount: asked)
    }

    @Test("Without anything in the log it never commits, and the writer sleeps as long as it likes")
    func nothing() {
        var clock = SettlingClock()
        for round in 0..<2 {
            for microseconds in [0, pause, max, 100 * max] {
                let answers = (
                    isDue(&clock, microseconds), isOverdue(&clock, microseconds, asked: 1)
                )
                #expect(answers == (false, false), "round \(round)")
            }
            #expect(clock.pause == .max)
            // Nor when there was something, and it was committed.
            clock.note(state(1), asOf: at(1))
            clock.note(state(0), asOf: at(2))
        }
    }

    @Test("It commits when nothing has come for a moment, counted from the last batch")
    func quiet() {
        var clock = SettlingClock()
        clock.note(state(1), asOf: at(0))
        #expect(clock.pause > 0 && clock.pause * 1_000 >= pause)
        var answer = isDue(&clock, pause - 1)
        #expect(!answer)
        clock.note(state(2), asOf: at(pause - 1))
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
        var clock = SettlingClock()
        var time = 0
        var count = 1
        while time < max {
            let answers = (isOverdue(&clock, time), isDue(&clock, time))
            #expect(answers == (false, false), "after \(time) µs")
            clock.note(state(count), asOf: at(time))
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
        clock.note(state(0), asOf: at(max))
        answer = isOverdue(&clock, 3 * max)
        #expect(!answer)
        clock.note(state(1), asOf: at(3 * max))
        answer = isOverdue(&clock, 4 * max - 1)
        #expect(!answer)
        answer = isOverdue(&clock, 4 * max)
        #expect(answer)
    }

    @Test(
        "Where somebody waits it commits as soon as nothing else is to be done, or after a moment")
    func awaited() {
        var clock = SettlingClock()
        clock.note(state(1, isAwaited: true), asOf: at(0))
        #expect(clock.pause == 0)
        var answer = isDue(&clock, 0)
        #expect(answer)
        answer = isOverdue(&clock, pause - 1)
        #expect(!answer)
        answer = isOverdue(&clock, pause)
        #expect(answer)
        clock.note(state(0), asOf: at(pause))
        #expect(clock.pause == .max)
        answer = isDue(&clock, 2 * pause)
        #expect(!answer)
    }

    @Test("It commits when a reader of another process asks, once for each asking")
    func hurried() {
        var clock = SettlingClock()
        clock.note(state(1), asOf: at(0))
        var answer = isOverdue(&clock, 1, asked: 0)
        #expect(!answer)
        answer = isOverdue(&clock, 1, asked: 1)
        #expect(answer)
        clock.note(state(0), asOf: at(1))
        clock.note(state(1), asOf: at(2))
        answer = isOverdue(&clock, 3, asked: 1)
        #expect(!answer)
        answer = isDue(&clock, 3, asked: 1)
        #expect(!answer)
        answer = isDue(&clock, 3, asked: 4)
        #expect(answer)
    }
}
