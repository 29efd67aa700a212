import Glibc
import TestSupport

/// Time for measuring and for deadlines.
enum Clock {
    /// Nanoseconds since the machine started (`CLOCK_MONOTONIC`).
    static func nanoseconds() -> Int {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return now.tv_sec * 1_000_000_000 + now.tv_nsec
    }

    /// The same in milliseconds.
    static func milliseconds() -> Int { nanoseconds() / 1_000_000 }

    /// Lets so many microseconds pass.
    static func pause(microseconds: Int) {
        if microseconds > 0 { usleep(UInt32(clamping: microseconds)) }
    }

    /// Asks again every 10 ms until `condition` holds. Returns false when it does not within the
    /// time.
    static func wait(milliseconds: Int, until condition: () throws -> Bool) rethrows -> Bool {
        let deadline = Self.milliseconds() + milliseconds
        while try !condition() {
            if Self.milliseconds() >= deadline { return false }
            pause(microseconds: 10_000)
        }
        return true
    }

    /// Asks again like ``wait(milliseconds:until:)``, and throws when the condition does not hold within the time.
    static func wait(
        milliseconds: Int, orThrow words: @autoclosure () -> String,
        until condition: () throws -> Bool
    ) throws {
        let isDone = try wait(milliseconds: milliseconds, until: condition)
        try require(isDone, words())
    }
}

/// A percentile of measured times, by sorting them.
func percentile(_ hundredths: Int, of samples: [Int]) -> Int {
    guard !samples.isEmpty else { return 0 }
    let sorted = samples.sorted()
    return sorted[min(sorted.count - 1, sorted.count * hundredths / 100)]
}
