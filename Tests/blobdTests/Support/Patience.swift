import CLinux
import TestSupport

/// Ends a test that would wait for ever. What is waited for is an event; no test depends on how
/// long that takes.
struct Patience {
    private let end = clinux_monotonic_ns() + Int64(RawClient.patienceMilliseconds) * 1_000_000

    func check(_ what: String) throws {
        guard clinux_monotonic_ns() < end else { throw TestFailure("waited too long: \(what)") }
    }
}
