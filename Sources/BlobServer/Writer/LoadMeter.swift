import Glibc

/// Whether the other threads of this process are busy: by the processor time that they have used since they
/// were asked about last.
struct LoadMeter {
    /// Busier than this share of one processor is loaded, in percent.
    static let percentMax = 20

    private var last: (instant: Instant, microseconds: Int)?

    /// Whether they were busy since the last call.
    mutating func isLoaded(asOf now: Instant) -> Bool {
        let used = Self.microsecondsOfOthers
        defer { last = (now, used) }
        guard let last else { return false }
        let elapsed = now.microseconds(since: last.instant)
        return elapsed > 0 && (used - last.microseconds) * 100 > elapsed * Self.percentMax
    }

    /// `RUSAGE_THREAD`, which only Linux has.
    private static let thread: Int32 = 1

    private static var microsecondsOfOthers: Int {
        microseconds(RUSAGE_SELF.rawValue) - microseconds(Self.thread)
    }

    private static func microseconds(_ who: Int32) -> Int {
        var usage = rusage()
        getrusage(__rusage_who_t(who), &usage)
        return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1_000_000
            + Int(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
    }
}
