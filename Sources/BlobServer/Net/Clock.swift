import BlobStore
import CLinux

/// A moment of the monotonic clock (`CLOCK_MONOTONIC`), for deadlines.
struct Instant: Hashable, Comparable {
    /// Nanoseconds since a moment that does not change while the machine runs.
    let nanoseconds: Int64

    static var now: Instant { Instant(nanoseconds: clinux_monotonic_ns()) }

    static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

    func after(milliseconds: Int) -> Instant {
        Instant(nanoseconds: nanoseconds + Int64(milliseconds) * 1_000_000)
    }

    func after(microseconds: Int) -> Instant {
        Instant(nanoseconds: nanoseconds + Int64(microseconds) * 1_000)
    }

    /// Rounded down.
    func microseconds(since earlier: Instant) -> Int {
        Int((nanoseconds - earlier.nanoseconds) / 1_000)
    }

    /// Rounded down.
    func milliseconds(since earlier: Instant) -> Int {
        Int((nanoseconds - earlier.nanoseconds) / 1_000_000)
    }
}

extension Int64 {
    /// The boot clock in milliseconds (`CLOCK_BOOTTIME`).
    static var bootMilliseconds: Int64 { clinux_boot_ns() / 1_000_000 }
}

extension BootTime {
    /// The boot clock, and which boot it is (`/proc/sys/kernel/random/boot_id`).
    static var now: BootTime {
        let text = (try? SmallFile.read("/proc/sys/kernel/random/boot_id", byteCountMax: 64)) ?? []
        let digits = String(decoding: text.prefix { $0 > 0x20 }, as: UTF8.self)
        return BootTime(bootID: BootID(digits) ?? .unknown, milliseconds: .bootMilliseconds)
    }
}

extension Timestamp {
    /// The wall clock (`CLOCK_REALTIME`), by which payloads expire.
    static var now: Timestamp { Timestamp(milliseconds: clinux_wall_ns() / 1_000_000) }
}
