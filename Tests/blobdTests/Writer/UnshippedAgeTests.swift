import Testing

@testable import BlobServer

/// How old what is not in the bucket is, as the cap of it is judged.
@Suite struct UnshippedAgeTests {
    @Test("Under constant changes it is no longer than shipping takes twice")
    func constantChanges() {
        var age = UnshippedAge()
        // A batch each unit of time; what there was ten units ago is shipped.
        for now in 1...10_000 as ClosedRange<Int64> {
            let since = age.look(
                last: UInt64(now), shipped: UInt64(max(0, now - 10)), now: now)
            #expect(since > 0 && since <= max(1, now - 9) && now - since <= 20, "at \(now)")
        }
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
