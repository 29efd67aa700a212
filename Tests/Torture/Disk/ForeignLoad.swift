import FoundationEssentials
import Glibc
import TestSupport

/// How much of the processors' time others take: what is neither the daemon's nor this program's.
struct ForeignLoad {
    private let daemon: pid_t
    private let begin: (milliseconds: Int, busy: Int, own: Int)

    /// Begins to count.
    init(beside daemon: pid_t) throws {
        self.daemon = daemon
        begin = try Self.now(daemon)
    }

    /// Of all processors' time since the beginning, in percent.
    func percent() throws -> Int {
        let end = try Self.now(daemon)
        let all = (end.milliseconds - begin.milliseconds) * sysconf(Int32(_SC_NPROCESSORS_ONLN))
        let foreign = (end.busy - begin.busy) - (end.own - begin.own)
        return max(0, foreign) * 100 / max(1, all)
    }

    private static func now(
        _ daemon: pid_t
    ) throws -> (milliseconds: Int, busy: Int, own: Int) {
        let own = try [daemon, getpid()].reduce(0) {
            $0 + (try ProcessFigures.processorMilliseconds(of: $1))
        }
        // user, nice, system, idle, iowait, irq, softirq, steal: all but idle and iowait.
        let line = Files.text("/proc/stat").prefix { $0 != "\n" }
        let ticks = line.split(separator: " ").dropFirst().prefix(8).compactMap { Int($0) }
        try require(ticks.count == 8, "/proc/stat begins with \(line)")
        let busy = (ticks.reduce(0, +) - ticks[3] - ticks[4]) * 1_000
        return (Clock.milliseconds(), busy / sysconf(Int32(_SC_CLK_TCK)), own)
    }
}
