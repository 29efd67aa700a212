/// When the requests of a run of fixed rate are meant to be sent: evenly, whatever the server does.
///
/// A request that cannot be sent in time keeps its time, and its latency counts from there: what a
/// client would have waited that came at that moment. Counting from the sending instead leaves out
/// exactly the requests that a stall delays (coordinated omission).
struct RateSchedule {
    /// Requests a second.
    let rate: Double
    private let start: Int64
    private let interval: Double
    private var taken = 0

    /// A schedule that begins at `start`. `rate` must be within ``LoadLimits/rate``.
    init(rate: Double, start: Int64) {
        self.rate = rate
        self.start = start
        interval = 1e9 / rate
    }

    /// When the next request is meant to be sent, in nanoseconds of the run's clock.
    var nextDue: Int64 { start + Int64(Double(taken) * interval) }

    /// Takes the next request when its time has come: the time it was meant for. Nil when it has
    /// not.
    mutating func take(now: Int64) -> Int64? {
        let due = nextDue
        guard due <= now else { return nil }
        taken += 1
        return due
    }

    /// How many requests were due before `end` and were not taken.
    func overdueCount(at end: Int64) -> Int {
        guard nextDue < end else { return 0 }
        return max(0, Int((Double(end - start) / interval).rounded(.up)) - taken)
    }
}
