import BlobStore
import TestSupport
import Testing

@testable import Replication

/// A clock that is wrong for a while.
@Suite struct WrongClockTests {
    private static let schedule = BaseSchedule(
        intervalMilliseconds: 300_000, retentionMilliseconds: 2_400_000)
    private static let year: Int64 = 365 * 86_400_000

    /// A clock that was set forward emptied the restore window: all bases but the newest were older than the
    /// retention. One that was a year behind did so when it was set right.
    @Test(
        "A jump of the wall clock deletes nothing, and afterwards deletion continues",
        arguments: [year, -year], [false, true])
    func jump(by milliseconds: Int64, overRestart: Bool) throws {
        let history = try TestHistory(seed: 22, schedule: Self.schedule)
        try history.work(minutes: 24)
        let leader = history.leader
        func bases() throws -> [UInt64] { try BaseManifest.numbers(on: leader.bucket) }
        let before = try bases().map { try BaseManifest.read($0, on: leader.bucket) }
        let numbers = Set(before.map(\.position.number))
        history.clock.set(by: milliseconds)
        if overRestart {
            try leader.reopen()
            try leader.resume()
        }
        let steps = try history.work(minutes: 9)
        let jumps = steps.compactMap {
            if case .clockJumped(let jump) = $0 { jump.signum() } else { nil }
        }
        #expect(jumps == [milliseconds.signum()])
        #expect(numbers.isSubset(of: try bases()), "within ten minutes")
        // It is set right, and what was made meanwhile bears wrong times.
        history.clock.set(by: -milliseconds)
        try history.work(minutes: 9)
        #expect(numbers.isSubset(of: try bases()), "within ten minutes again")
        try history.work(minutes: 2)
        let end = history.clock.now.milliseconds - Self.schedule.retentionMilliseconds
        let needed = before.filter { $0.time.milliseconds > end }.map(\.position.number)
        #expect(!needed.isEmpty)
        #expect(Set(needed).isSubset(of: try bases()), "the retention stays")
        try history.work(minutes: 60)
        #expect(numbers.isDisjoint(with: try bases()), "and no others")
    }

    /// Times of bases in hours, and of the present: the one that a retention of 24 hours begins with, where one is
    /// due every 6 hours.
    @Test(
        "A clock that is set forward ends the retention of one interval, and one that is set back of none",
        arguments: [
            ([0, 6, 12, 18, 24, 30], 30, 1), ([0, 6, 12, 18, 24], 23, nil), ([], 9, nil),
            // Set forward by years, before the present and before the last base.
            ([0, 6, 12, 18], 90_000, 0), ([0, 6, 12, 18, 90_000], 90_001, 0),
            ([0, 6, 12, 18, 90_000, 90_005], 90_006, 1), ([0, 6, 90_000], 90_001, nil),
            // It was wrong for a moment, and right since: what it made lies in the future, or says nothing.
            ([0, 6, 12, 90_000, 18, 24], 30, 1), ([0, 6, 12, -90_000, 18, 24], 30, 1),
            // Two hosts whose clocks differ lead in turn.
            ([0, 18, 6, 24, 12, 30, 18], 30, nil),
            // Nobody led for years.
            ([0, 6, 90_000], 90_003, nil),
        ] as [([Int64], Int64, Int?)])
    func oldestKept(hours: [Int64], now: Int64, expected: Int?) throws {
        let schedule = BaseSchedule(
            intervalMilliseconds: 6 * 3_600_000, retentionMilliseconds: 24 * 3_600_000)
        let bases = hours.enumerated().map { index, hour in
            BaseManifest(
                storeID: "", epoch: 1, position: .start, sequence: UInt64(index),
                time: noon.adding(seconds: hour * 3_600), nextBlobNumber: 0, parts: [])
        }
        let kept = schedule.oldestKept(of: bases, asOf: noon.adding(seconds: now * 3_600))
        #expect(kept.map { Int($0.sequence) } == expected)
    }

    @Test(
        "A clock that is set pauses deletions for ten minutes, also backwards, and each time anew",
        arguments: [
            [
                (1_000_000, 500, .steady), (1_001_000, 1_500, .steady),
                // A minute more is not enough, a millisecond beyond is.
                (1_062_000, 2_500, .steady), (1_123_001, 3_500, .jumped(milliseconds: 60_001)),
                (1_124_001, 4_500, .paused), (1_723_000, 603_499, .paused),
                (1_723_001, 603_500, .steady),
            ],
            [
                (10_000_000, 0, .steady), (1_000_000, 1_000, .jumped(milliseconds: -9_001_000)),
                (9_000_000, 300_000, .jumped(milliseconds: 7_701_000)),
                (9_500_000, 800_000, .paused), (9_600_000, 900_000, .steady),
            ],
            // A machine that slept: both clocks went on.
            [(1_000_000, 0, .steady), (9_000_000, 8_000_000, .steady)],
        ] as [[(Int64, Int64, DeletionClock.Verdict)]])
    func clock(ticks: [(wall: Int64, boot: Int64, DeletionClock.Verdict)]) {
        var clock = DeletionClock()
        var jumpCount = 0
        for (wall, boot, expected) in ticks {
            #expect(clock.tick(wall: wall, boot: boot) == expected, "\(wall)")
            if case .jumped = expected { jumpCount += 1 }
        }
        #expect(clock.jumpCount == jumpCount)
    }
}
