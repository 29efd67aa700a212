import Glibc

/// Ends a test that would wait for ever. What is waited for is an event; no test depends on how
/// long that takes.
public struct Patience {
    /// Nothing ever waits this long when all is well, on a machine that is slow and busy either.
    public static let milliseconds: Int32 = 300_000

    private let begin = ContinuousClock.now

    /// The waiting begins now.
    public init() {}

    /// Pauses before the next look: longer the longer it has been waited, at most 20 ms, so that who is waited for
    /// has the processor.
    ///
    /// - Throws: `what`, when it has been waited too long.
    public func wait(orThrow what: @autoclosure () -> String) throws {
        let waited = ContinuousClock.now - begin
        guard waited < .milliseconds(Self.milliseconds) else {
            throw TestFailure("waited too long: \(what())")
        }
        let pause = min(.milliseconds(20), max(.microseconds(200), waited / 16))
        usleep(UInt32(pause / .microseconds(1)))
    }
}
