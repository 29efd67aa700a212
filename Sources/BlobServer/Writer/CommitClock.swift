import BlobStore

/// Decides when acknowledged changes that are only in the write-ahead log are committed to `data.mdb`.
///
/// * After a moment without changes, so that the memory that they take is free.
/// * While changes keep arriving, at an interval, so that many share a commit.
/// * Early, for backups and other processes, which read what is committed, but some time after the last commit, so that
///   those that read in a loop do not make every batch a commit.
struct CommitClock {
    /// A commit takes about two milliseconds, during which a publisher has to wait. With this interval, fewer than one
    /// publish in a hundred waits.
    static let intervalMicrosecondsMax = 100_000
    /// How long no change may arrive before pending ones are committed.
    static let pauseMicroseconds = 2_000
    /// A reader of what is committed waits at most this long, plus a commit. Without it, one that reads in a loop what
    /// others publish would make every batch a commit.
    static let earlyMicrosecondsMin = 10_000

    private var state = PendingBatches()
    /// When the first and the last pending change were acknowledged.
    private var begin: Instant?
    private var last = Instant.now
    /// When the last commit ended; nil: there was none.
    private var lastCommit: Instant?
    private var commitCount: UInt64 = 0
    private var commitRequestCount: UInt64 = 0
    /// Whether a commit was asked for since the last note, and when the next one is, after one that found no room.
    private var isAttempted = false
    private var nextAttempt: Instant?
    private var pauseAfterFailure = Self.failureMicrosecondsMin

    /// After a commit for which there was no room, the next one is tried so much later, twice as much after each.
    static let failureMicrosecondsMin = 100_000
    static let failureMicrosecondsMax = 1_000_000

    struct Demand {
        var hasWaiters: Bool
        /// How often readers in other processes have requested a commit.
        var requestCount: UInt64
    }

    /// Records what is pending after a batch or a commit.
    mutating func note(_ state: PendingBatches, commitCount: UInt64, asOf now: Instant) {
        self.state = state
        last = now
        if isAttempted, state.isPending, commitCount == self.commitCount {
            nextAttempt = now.after(microseconds: pauseAfterFailure)
            pauseAfterFailure = min(2 * pauseAfterFailure, Self.failureMicrosecondsMax)
        }
        isAttempted = false
        if commitCount != self.commitCount {
            self.commitCount = commitCount
            lastCommit = now
            begin = nil
            nextAttempt = nil
            pauseAfterFailure = Self.failureMicrosecondsMin
        }
        if !state.isPending {
            begin = nil
        } else if begin == nil {
            begin = now
        }
    }

    /// Whether to commit the next batch and all pending changes.
    mutating func isOverdue(asOf now: Instant, _ demand: Demand) -> Bool {
        guard let begin, mayAttempt(asOf: now) else { return false }
        let isAsked = demand.hasWaiters || demand.requestCount != commitRequestCount
        let age = now.microseconds(since: begin)
        let isOverdue =
            age >= Self.intervalMicrosecondsMax
            || isAsked && microsecondsToEarlyCommit(asOf: now) <= 0
        // The commit serves all requests made so far.
        if isOverdue {
            commitRequestCount = demand.requestCount
            isAttempted = true
        }
        return isOverdue
    }

    /// Whether to commit pending changes while no batch waits.
    mutating func isDue(asOf now: Instant, _ demand: Demand) -> Bool {
        guard begin != nil, mayAttempt(asOf: now) else { return false }
        guard
            isOverdue(asOf: now, demand)
                || now.microseconds(since: last) >= Self.pauseMicroseconds
        else { return false }
        isAttempted = true
        return true
    }

    private func mayAttempt(asOf now: Instant) -> Bool {
        nextAttempt.map { now.microseconds(since: $0) >= 0 } ?? true
    }

    /// How long the writer may sleep, in milliseconds.
    func pause(asOf now: Instant, hasWaiters: Bool) -> Int {
        guard begin != nil else { return .max }
        if let nextAttempt { return (max(0, nextAttempt.microseconds(since: now)) + 999) / 1_000 }
        var microseconds = Self.pauseMicroseconds
        if hasWaiters { microseconds = min(microseconds, microsecondsToEarlyCommit(asOf: now)) }
        return (max(0, microseconds) + 999) / 1_000
    }

    /// How long until readers may cause a commit; 0 or less: now.
    private func microsecondsToEarlyCommit(asOf now: Instant) -> Int {
        guard let lastCommit else { return 0 }
        return Self.earlyMicrosecondsMin - now.microseconds(since: lastCommit)
    }
}
