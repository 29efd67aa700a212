import Testing

@testable import load

@Suite struct ReportTests {
    @Test(
        "A latency has at most five characters",
        arguments: [
            (0, "0.00"), (4.2149, "4.21"), (1_204.4, "1204"), (99_999.4, "99999"),
            (99_999.6, "100ms"), (123_456, "123ms"), (999_600, "1.00s"), (12_345_678, "12.3s"),
            (.infinity, "?"),
        ] as [(Double, String)])
    func latencies(value: Double, text: String) {
        #expect(LoadReport.time(value) == text)
    }

    @Test(
        "Numbers have three digits",
        arguments: [
            (0, "0.00"), (4.2149, "4.21"), (9.996, "10.0"), (38.46, "38.5"), (99.96, "100"),
            (1_204.4, "1,204"), (1_234_567, "1,234,567"), (.infinity, "?"),
        ] as [(Double, String)])
    func numbers(value: Double, text: String) {
        #expect(LoadReport.number(value) == text)
    }
}
