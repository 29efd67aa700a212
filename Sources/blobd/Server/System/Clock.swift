import BlobStore
import CLinux

/// A moment of the monotonic clock (`CLOCK_MONOTONIC`), for deadlines. Read once per turn of a loop.
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

/// A moment of the wall clock, by which payloads expire. The protocol has a `Timestamp` too, hence another name here.
typealias WallTime = Timestamp

extension WallTime {
    /// The wall clock (`CLOCK_REALTIME`).
    static var now: WallTime { WallTime(milliseconds: clinux_wall_ns() / 1_000_000) }
}
