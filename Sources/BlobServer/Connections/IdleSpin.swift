/// Decides whether a worker polls for a moment before it blocks.
///
/// Waking a blocked thread takes the kernel longer than a fetch takes. A client that waits for each
/// answer would pay for that with every request. So a worker polls while requests come one right after
/// the other. After each failure it skips twice as many waits: an idle daemon or a slow client costs one
/// moment in a thousand waits.
struct IdleSpin {
    /// How long one try lasts; 0: never.
    private let nanoseconds: Int64
    /// Waits to let pass before the next try, now and after the next failure.
    private var skipped = 0
    private var skipsAfterFailure = 1

    /// Waits between two tries at the most.
    private static let skipCountMax = 1_024

    /// - Parameter microseconds: how long one try lasts; 0: never.
    init(microseconds: Int) {
        nanoseconds = Int64(microseconds) * 1_000
    }

    /// Whether to try before this wait.
    mutating func begins() -> Bool {
        guard nanoseconds > 0 else { return false }
        guard skipped > 0 else { return true }
        skipped -= 1
        return false
    }

    /// When a try that begins now is over, on the clock of `clinux_monotonic_ns`.
    func end(from now: Int64) -> Int64 { now + nanoseconds }

    /// Something came during the try.
    mutating func succeeded() {
        skipsAfterFailure = 1
    }

    /// Nothing came.
    mutating func failed() {
        skipped = skipsAfterFailure
        skipsAfterFailure = min(2 * skipsAfterFailure, Self.skipCountMax)
    }
}
