import Glibc

/// The processor time that a server has used so far, all of its processes together.
struct ProcessorTime {
    private var seconds = 0.0
    private var userTicks = 0.0
    private var kernelTicks = 0.0

    /// Reads it: of a process, of its children, and of those children that have exited, such as the
    /// one that rewrites redis's log.
    ///
    /// - Returns: nil when it cannot be read.
    init?(of pid: pid_t) {
        let ticksPerSecond = Double(sysconf(Int32(_SC_CLK_TCK)))
        for process in ServerProcess.tree(of: pid) {
            // proc(5): the fields after the name, of which the twelfth is utime; then come stime and
            // both of the children that were waited for.
            let stat = Shell.file("/proc/\(process)/stat")
            let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
            guard fields.count > 14, let own = Self.seconds(of: process) else {
                // One that has just exited counts with its parent.
                if process == pid { return nil }
                continue
            }
            let ticks = fields[11...14].map { Double($0) ?? 0 }
            userTicks += ticks[0] + ticks[2]
            kernelTicks += ticks[1] + ticks[3]
            seconds += own + (ticks[2] + ticks[3]) / ticksPerSecond
        }
    }

    /// What a running process used, to the nanosecond.
    private static func seconds(of process: pid_t) -> Double? {
        var clock = clockid_t()
        var time = timespec()
        guard clock_getcpuclockid(process, &clock) == 0, clock_gettime(clock, &time) == 0 else {
            return nil
        }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// What was used since `earlier`, in microseconds: the kernel's clock says how much it was, and
    /// its ticks, a hundred a second, what part of it was outside the kernel.
    func microseconds(since earlier: ProcessorTime) -> (user: Double, kernel: Double) {
        let all = max(seconds - earlier.seconds, 0) * 1e6
        let user = userTicks - earlier.userTicks
        let kernel = kernelTicks - earlier.kernelTicks
        let share = user + kernel > 0 ? user / (user + kernel) : 0.5
        return (all * share, all * (1 - share))
    }
}
