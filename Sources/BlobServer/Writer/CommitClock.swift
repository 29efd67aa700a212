import BlobStore

/// Decides when acknowledged changes, which are in the write-ahead log alone, are committed to
/// `data.mdb`.
///
/// * When no change has come for a moment: the next reader need not wait for the commit then.
/// * While changes keep coming, after an interval: many of them share a commit.
/// * Early, for readers that wait for what is pending. Some time must have passed since the last commit,
///   so that readers in a loop cannot make each batch a commit of its own.
struct CommitClock {
    /// A commit takes about two milliseconds, for which a publisher has to wait: with this, less than one publish in
    /// a hundred does.
    static let intervalMicrosecondsMax = 100_000
    /// How long nothing may come before it is committed.
    static let pauseMicroseconds = 2_000
    /// A reader waits at most this long, and a commit. Without it, a client that reads what others publish, in a
    /// loop, makes each batch a commit.
    static let earlyMicrosecondsMin = 10_000

    private var state = PendingBatches()
    /// When the first pending change was acknowledged, and the last.
    private var begin: Instant?
    private var last = Instant.now
    /// When the last commit ended; nil: there was none.
    private var lastCommit: Instant?
    private var commitCount: UInt64 = 0
    private var commitRequestCount: UInt64 = 0

    struct Demand {
        var hasWaiters: Bool
        /// How often readers in other processes have asked for one.
        var requestCount: UInt64
    }

    /// Takes note of what is pending after a batch or a commit.
    mutating func note(_ state: PendingBatches, commitCount: UInt64, asOf now: Instant) {
        self.state = state
        last = now
        if commitCount != self.commitCount {
            self.commitCount = commitCount
            lastCommit = now
            begin = nil
        }
        if !state.isPending {
            begin = nil
        } else if begin == nil {
            begin = now
        }
    }

    /// Whether the next batch and what is pending are to be committed.
    mutating func isOverdue(asOf now: Instant, _ demand: Demand) -> Bool {
        guard let begin else { return false }
        let isAsked = demand.hasWaiters || demand.requestCount != commitRequestCount
        let age = now.microseconds(since: begin)
        let isOverdue =
            age >= Self.intervalMicrosecondsMax
            || state.isAwaited && age >= Self.pauseMicroseconds
            || isAsked && microsecondsToEarlyCommit(asOf: now) <= 0
        // The commit serves all requests that were made by now.
        if isOverdue { commitRequestCount = demand.requestCount }
        return isOverdue
    }

    /// Whether what is pending is to be committed while no batch waits.
    mutating func isDue(asOf now: Instant, _ demand: Demand) -> Bool {
        guard begin != nil else { return false }
        return isOverdue(asOf: now, demand) || state.isAwaited
            || now.microseconds(since: last) >= Self.pauseMicroseconds
    }

    /// How long the writer may sleep, in milliseconds.
    func pause(asOf now: Instant, hasWaiters: Bool) -> Int {
        guard begin != nil else { return .max }
        if state.isAwaited { return 0 }
        var microseconds = Self.pauseMicroseconds
        if hasWaiters { microseconds = min(microseconds, microsecondsToEarlyCommit(asOf: now)) }
        return (max(0, microseconds) + 999) / 1_000
    }

    /// How long it is until readers may cause a commit; 0 or less: they may now.
    private func microsecondsToEarlyCommit(asOf now: Instant) -> Int {
        guard let lastCommit else { return 0 }
        return Self.earlyMicrosecondsMin - now.microseconds(since: lastCommit)
    }
}
