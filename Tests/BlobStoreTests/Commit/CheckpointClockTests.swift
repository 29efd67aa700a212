import Testing

@testable import BlobStore

/// When what is only in the log is committed.
@Suite final class CheckpointClockTests {
    private typealias Demand = CheckpointClock.Demand

    private var clock = CheckpointClock()
    /// Rises with each look, unless it is quiet.
    private var batchCount: UInt64 = 0
    private static let start: Int64 = 7_000_000_000
    private let interval = CheckpointClock.intervalMicroseconds
    private let early = CheckpointClock.earlyMicrosecondsMin
    private let quiet = CheckpointClock.quietMicroseconds

    /// So many microseconds after the start.
    private func at(_ microseconds: Int) -> Instant {
        Instant(nanoseconds: Self.start + Int64(microseconds) * 1_000)
    }

    private func pause(
        _ microseconds: Int, isPending: Bool = true, isQuiet: Bool = false,
        _ demand: Demand = Demand()
    ) -> Int? {
        var demand = demand
        if !isQuiet { batchCount += 1 }
        demand.batchCount = isPending ? batchCount : 0
        return clock.pause(asOf: at(microseconds), demand)
    }

    private func commit(_ microseconds: Int, _ demand: Demand = Demand(), hasFailed: Bool = false) {
        clock.noteBegin(demand)
        clock.noteEnd(asOf: at(microseconds), hasFailed: hasFailed)
    }

    @Test("Without anything in the log it never commits, whoever asks")
    func nothing() {
        let demand = Demand(isMuch: true, hasWaiters: true, requestCount: 3, isShipped: true)
        for time in [0, early, interval, 100 * interval] {
            #expect(pause(time, isPending: false, demand) == nil)
        }
        // Nor is what was committed counted.
        #expect(pause(0) == quiet)
        #expect(pause(1, isPending: false) == nil)
        #expect(pause(interval) == quiet)
    }

    @Test("It commits when nothing has come for a moment, counted from the last batch")
    func moment() {
        #expect(pause(0) == quiet)
        #expect(pause(quiet - 1, isQuiet: true) == 1)
        #expect(pause(quiet - 1) == quiet)
        #expect(pause(2 * quiet - 2, isQuiet: true) == 1)
        #expect(pause(2 * quiet - 1, isQuiet: true) == 0)
    }

    @Test(
        "While changes keep coming it commits a second after the first, sooner where they are shipped"
    )
    func regular() {
        var time = 0
        while time < interval - quiet {
            #expect(pause(time) == quiet)
            time += quiet / 2
        }
        #expect(pause(interval - 1) == 1)
        #expect(pause(interval) == 0)
        commit(interval)
        #expect(pause(3 * interval) == quiet)
        let shipped = Demand(isShipped: true)
        let soon = CheckpointClock.shippedIntervalMicroseconds
        #expect(pause(3 * interval + soon - 1, shipped) == 1)
        #expect(pause(3 * interval + soon, shipped) == 0)
    }

    @Test("It commits at once when there is much")
    func much() {
        #expect(pause(0, Demand(isMuch: true)) == 0)
        commit(1)
        #expect(pause(2, Demand(isMuch: true)) == 0)
    }

    @Test(
        "It commits when a reader asks, once for each asking, and not each batch for one that asks in a loop"
    )
    func requested() {
        let asked = Demand(requestCount: 1)
        #expect(pause(0, asked) == 0)
        commit(1, asked)
        // It was served.
        #expect(pause(2, asked) == quiet)
        let again = Demand(requestCount: 2)
        #expect(pause(3, again) == early - 2)
        #expect(pause(1 + early, again) == 0)
        commit(2 + early, again)
        let waiting = Demand(hasWaiters: true, requestCount: 2)
        #expect(pause(2 + early, waiting) == early)
    }

    /// A full store was tried again every two milliseconds.
    @Test("After a commit for which there was no room it waits, twice as long after each")
    func noRoom() {
        #expect(pause(0) == quiet)
        var time = interval
        var wait = CheckpointClock.failureMicrosecondsMin
        let demand = Demand(isMuch: true, hasWaiters: true, requestCount: 9)
        for _ in 0..<6 {
            commit(time, hasFailed: true)
            #expect(pause(time, demand) == wait)
            time += wait
            #expect(pause(time, demand) == 0)
            wait = min(2 * wait, CheckpointClock.failureMicrosecondsMax)
        }
        // Once there is room it is as quick as ever.
        commit(time)
        #expect(pause(time + 1, Demand(isMuch: true)) == 0)
    }
}
