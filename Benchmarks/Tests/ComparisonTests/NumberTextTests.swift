import Comparison
import Testing

@Suite struct NumberTextTests {
    @Test(arguments: [
        (0.0, "0.00"), (9.994, "9.99"), (9.996, "10.0"), (99.96, "100"), (812.4, "812"),
        (999.4, "999"), (999.6, "1.00 k"), (5_432, "5.43 k"), (391_000, "391 k"),
        (999_600, "1.00 M"), (1_421_000, "1.42 M"), (2.5e9, "2.50 G"), (-1, "–"),
        (Double.nan, "–"), (Double.infinity, "–"),
    ])
    func ratesHaveThreeDigits(value: Double, text: String) {
        #expect(NumberText.short(value) == text)
    }

    @Test(arguments: [
        (0.87, "870 ns"), (0.9996, "1.00 µs"), (41.27, "41.3 µs"), (1_240, "1.24 ms"),
        (2_100_000, "2.10 s"),
    ])
    func timesHaveUnits(microseconds: Double, text: String) {
        #expect(NumberText.time(microseconds: microseconds) == text)
    }

    /// A ratio is never shown on the other side of its target.
    @Test(arguments: [
        (1.341, 1.0, "1.34 ×"), (0.998, 1, "0.998 ×"), (0.9996, 1, "0.9996 ×"), (1.0, 1, "1.00 ×"),
        (1.0004, 1, "1.00 ×"), (0.8996, 0.9, "0.8996 ×"), (51.27, 1, "51.3 ×"), (512.7, 1, "513 ×"),
    ])
    func ratiosKeepToTheirSide(value: Double, target: Double, text: String) {
        #expect(NumberText.ratio(value, target: target) == text)
    }

    @Test(arguments: [
        (0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567"), (-1_234, "-1,234"),
    ])
    func digitsAreGrouped(value: Int, text: String) {
        #expect(NumberText.grouped(value) == text)
    }

    @Test(arguments: [
        (1_024, "1 KiB"), (131_072, "128 KiB"), (1 << 20, "1 MiB"), (1_500, "1,500 B"), (7, "7 B"),
    ])
    func sizesAreWholeUnits(count: Int, text: String) {
        #expect(NumberText.bytes(count) == text)
    }

    @Test(arguments: [
        (1.005, 1, "1.0"), (0.049, 1, "0.0"), (-0.04, 1, "0.0"), (12.5, 0, "13"),
        (1.0625, 3, "1.063"),
    ])
    func pointsAreFixed(value: Double, digits: Int, text: String) {
        #expect(NumberText.fixed(value, digits) == text)
    }
}
