import CLinux
import Glibc
import TestSupport

/// Ends a test that would wait for ever. What is waited for is an event; no test depends on how
/// long that takes.
struct Patience {
    private let begin = clinux_monotonic_ns()

    /// Pauses before the next look: longer the longer it has been waited, at most 20 ms, so that who is waited for
    /// has the processor.
    ///
    /// - Throws: `what`, when it has been waited too long.
    func wait(orThrow what: @autoclosure () -> String) throws {
        let waited = (clinux_monotonic_ns() - begin) / 1_000
        guard waited < Int64(RawClient.patienceMilliseconds) * 1_000 else {
            throw TestFailure("waited too long: \(what())")
        }
        usleep(UInt32(clamping: min(20_000, max(200, waited / 16))))
    }
}
