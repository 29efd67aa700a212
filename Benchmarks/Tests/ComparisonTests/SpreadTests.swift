import Comparison
import Testing

@Suite struct SpreadTests {
    @Test func nothingHasNoSpread() {
        #expect(Spread([]) == nil)
    }

    @Test func theMedianIsTheMiddle() throws {
        let odd = try #require(Spread([3, 1, 2]))
        #expect(odd.median == 2)
        #expect(odd.least == 1)
        #expect(odd.most == 3)
        #expect(Spread([4, 1, 2, 3])?.median == 2.5)
    }
}
