import CLinux
import Glibc

/// The clock, by which payloads expire.
enum ClockChecks {
    static func run() -> [Finding] {
        let year = 1970 + Int(time(nil)) / 31_556_952
        if year < 2_025 {
            return [
                .problem(
                    "clock", "it is the year \(year)",
                    "Everything expires late, and then at once: set the clock before the daemon starts."
                )
            ]
        }
        let isSynchronised = clinux_clock_is_synchronised()
        guard isSynchronised >= 0 else { return [] }
        if isSynchronised == 0 {
            return [
                .warning(
                    "clock", "it is not synchronised",
                    "Payloads expire by it: run chrony or systemd-timesyncd (timedatectl set-ntp true)."
                )
            ]
        }
        return [.ok("clock", "synchronised")]
    }
}
