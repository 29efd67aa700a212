/// Decides when changes that are acknowledged and only in the write-ahead log and in memory are committed to
/// `data.mdb`.
///
/// * A moment after the last of them.
/// * While they keep coming, a second after the first: the more share a commit, the fewer pages it writes for each.
///   Sooner where they are shipped, which takes what is committed.
/// * When there is so much that changes would soon have to wait.
/// * When a backup or another process asks, which read what is committed, but some time after the last commit, so that
///   those that read in a loop do not make every batch a commit.
struct CheckpointClock {
    static let quietMicroseconds = 10_000
    static let intervalMicroseconds = 1_000_000
    static let shippedIntervalMicroseconds = 50_000
    static let earlyMicrosecondsMin = 10_000
    /// How often it is looked whether another process asks, while something is pending.
    static let lookMicroseconds = 5_000
    /// After a commit that failed, the next one is tried so much later, twice as much after each.
    static let failureMicrosecondsMin = 100_000
    static let failureMicrosecondsMax = 1_000_000

    /// What is known of what is pending.
    struct Demand {
        /// Batches that are pending; 0: none is.
        var batchCount: UInt64 = 0
        var isMuch = false
        /// Whether somebody in this process waits for a commit.
        var hasWaiters = false
        /// How often readers in other processes have requested a commit.
        var requestCount: UInt64 = 0
        /// Whether what is committed is shipped to a bucket.
        var isShipped = false
    }

    /// When it was first seen that something is pending; nil: nothing is.
    private var begin: Instant?
    /// How many batches were pending when their number was last seen to change, and when that was.
    private var batchCount: UInt64 = 0
    private var lastBatch = Instant(nanoseconds: 0)
    /// When the last commit ended; nil: there was none.
    private var lastCommit: Instant?
    private var requestCount: UInt64 = 0
    private var nextAttempt: Instant?
    private var pauseAfterFailure = Self.failureMicrosecondsMin

    /// How long to wait before a commit, in microseconds: 0 or less: not at all; nil: until something is pending.
    mutating func pause(asOf now: Instant, _ demand: Demand) -> Int? {
        if demand.batchCount != batchCount { (batchCount, lastBatch) = (demand.batchCount, now) }
        guard demand.batchCount > 0 else {
            begin = nil
            return nil
        }
        let begin = self.begin ?? now
        self.begin = begin
        if let nextAttempt { return nextAttempt.microseconds(since: now) }
        if demand.isMuch { return 0 }
        let interval =
            demand.isShipped ? Self.shippedIntervalMicroseconds : Self.intervalMicroseconds
        let rest = min(
            interval - now.microseconds(since: begin),
            Self.quietMicroseconds - now.microseconds(since: lastBatch))
        guard demand.hasWaiters || demand.requestCount != requestCount else { return rest }
        guard let lastCommit else { return 0 }
        return min(rest, Self.earlyMicrosecondsMin - now.microseconds(since: lastCommit))
    }

    /// A commit begins: it serves all requests made so far.
    mutating func noteBegin(_ demand: Demand) { requestCount = demand.requestCount }

    mutating func noteEnd(asOf now: Instant, hasFailed: Bool) {
        guard hasFailed else {
            begin = nil
            lastCommit = now
            nextAttempt = nil
            pauseAfterFailure = Self.failureMicrosecondsMin
            return
        }
        nextAttempt = now.after(microseconds: pauseAfterFailure)
        pauseAfterFailure = min(2 * pauseAfterFailure, Self.failureMicrosecondsMax)
    }
}
