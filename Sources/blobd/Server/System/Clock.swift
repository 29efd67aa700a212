import BlobStore
import CLinux

/// A moment of the monotonic clock (`CLOCK_MONOTONIC`), for deadlines. Read once per turn of a
/// loop.
struct Instant: Hashable, Comparable {
    /// Nanoseconds since some moment that never changes while the machine runs.
    let nanoseconds: Int64

    static var now: Instant { Instant(nanoseconds: clinux_monotonic_ns()) }

    static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

    /// The moment `milliseconds` later.
    func after(milliseconds: Int) -> Instant {
        Instant(nanoseconds: nanoseconds + Int64(milliseconds) * 1_000_000)
    }

    /// The milliseconds from an earlier moment to this one, rounded down.
    func milliseconds(since earlier: Instant) -> Int {
        Int((nanoseconds - earlier.nanoseconds) / 1_000_000)
    }
}

extension Timestamp {
    /// The wall clock (`CLOCK_REALTIME`), by which payloads expire.
    static var now: Timestamp { Timestamp(milliseconds: clinux_wall_ns() / 1_000_000) }
}
