import Testing

@testable import BlobServer

/// How old what is not in the bucket is, as the cap of it is judged.
@Suite struct UnshippedAgeTests {
    @Test("Under constant changes it is as long as shipping takes")
    func constantChanges() {
        var age = UnshippedAge()
        // A batch each unit of time; what there was ten units ago is shipped.
        for now in 1...10_000 as ClosedRange<Int64> {
            let since = age.look(
                last: UInt64(now), shipped: UInt64(max(0, now - 10)), now: now)
            #expect(since > 0 && since <= max(1, now - 9) && now - since <= 10, "at \(now)")
        }
    }

    /// The last batches of a look were once not in the segment that was read just after it, because they were not
    /// committed yet. So that look was reached a segment later, and the next one was behind that: with answers
    /// that are 5 s late the lag was told as 15 to 25 s, and is 5 to 10.
    @Test("It is told right while segments take long, and do not have the last batches")
    func slowSegments() {
        var age = UnshippedAge()
        let (request, commit) = (5_000 as Int64, 20 as Int64)
        var shipped: Int64 = 0
        for now in 1...200_000 as ClosedRange<Int64> {
            // Each request begins when the one before is answered, with what was committed then.
            if now % request == 0 { shipped = max(0, now - request - commit) }
            guard now % request == 0 || now % 100 == 0 else { continue }
            let since = age.look(last: UInt64(now), shipped: UInt64(shipped), now: now)
            // The next one is the oldest.
            #expect(since <= shipped + 1 || since == 100, "at \(now)")
            #expect(shipped == 0 || since >= shipped - 100 - 2 * request / 32, "at \(now)")
        }
    }

    @Test("At a start it is that of the oldest change of an earlier run, later that of a look")
    func start() {
        var age = UnshippedAge()
        #expect(age.look(last: 9, shipped: 5, now: 100) { 70 } == 30)
        #expect(age.look(last: 9, shipped: 5, now: 110) { 1 } == 30)
        #expect(age.look(last: 9, shipped: 9, now: 120) == 0)
        #expect(age.look(last: 10, shipped: 9, now: 130) { 70 } == 130)
    }

    @Test("It grows while nothing moves, and ends when all is shipped")
    func growth() {
        var age = UnshippedAge()
        #expect(age.look(last: 5, shipped: 5, now: 100) == 0)
        #expect(age.look(last: 6, shipped: 5, now: 200) == 200)
        for now in 201...1_000 as ClosedRange<Int64> {
            #expect(age.look(last: 6 + UInt64(now), shipped: 5, now: now) == 200)
        }
        // Part of it, and then what was there at that look.
        #expect(age.look(last: 2_000, shipped: 6, now: 1_100) == 200)
        #expect(age.look(last: 2_100, shipped: 2_000, now: 1_200) == 1_100)
        #expect(age.look(last: 2_100, shipped: 2_100, now: 1_300) == 0)
        #expect(age.look(last: 2_101, shipped: 2_100, now: 1_400) == 1_400)
    }
}
