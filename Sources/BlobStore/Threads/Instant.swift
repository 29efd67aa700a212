internal import CLinux

/// A moment of the monotonic clock (`CLOCK_MONOTONIC`), for deadlines.
package struct Instant: Hashable, Comparable, Sendable {
    /// Nanoseconds since a moment that does not change while the machine runs.
    package let nanoseconds: Int64

    @inlinable
    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    package static var now: Instant { Instant(nanoseconds: clinux_monotonic_ns()) }

    @inlinable
    package static func < (left: Instant, right: Instant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    // Comparable's own is a call through a witness table in other modules, and each fetch compares.
    @inlinable
    package static func >= (left: Instant, right: Instant) -> Bool {
        left.nanoseconds >= right.nanoseconds
    }

    @inlinable
    package func after(milliseconds: Int) -> Instant {
        Instant(nanoseconds: nanoseconds + Int64(milliseconds) * 1_000_000)
    }

    @inlinable
    package func after(microseconds: Int) -> Instant {
        Instant(nanoseconds: nanoseconds + Int64(microseconds) * 1_000)
    }

    /// Rounded down.
    @inlinable
    package func microseconds(since earlier: Instant) -> Int {
        Int((nanoseconds - earlier.nanoseconds) / 1_000)
    }

    /// Rounded down.
    @inlinable
    package func milliseconds(since earlier: Instant) -> Int {
        Int((nanoseconds - earlier.nanoseconds) / 1_000_000)
    }
}
