import BlobStore
import CLinux

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
