import BlobStore

/// Decides when what was acknowledged and is in the log alone is committed to `data.mdb`: when
/// nothing has come for a moment, so that the next reader need not wait for it; while changes keep
/// coming, after a while, so that a commit is shared by many of them; and early for those who read
/// what is pending, but only some time after the last commit, so that readers in a loop cannot make
/// each batch a commit of its own.
struct CommitClock {
    private var state = PendingBatches()
    /// When the first of them was acknowledged, and the last.
    private var begin: Instant?
    private var last = Instant.now
    /// When the last commit ended; nil: there was none.
    private var lastCommit: Instant?
    private var commitCount: UInt64 = 0
    private var commitRequestCount: UInt64 = 0
    /// Whether connections of this daemon wait for a commit.
    var hasReaders = false

    /// Takes note of what there is after a batch, or after it was committed.
    ///
    /// - Parameter commitCount: how often what was in the log has been committed.
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

    /// Whether the next batch is to be committed with them: they are old, or somebody waits and may
    /// be served now.
    ///
    /// - Parameter commitRequestCount: how often readers in other processes have asked.
    mutating func isOverdue(asOf now: Instant, commitRequestCount: UInt64) -> Bool {
        guard let begin else { return false }
        let isAsked = hasReaders || commitRequestCount != self.commitRequestCount
        let age = now.microseconds(since: begin)
        let isOverdue =
            age >= DaemonLimits.commitIntervalMicrosecondsMax
            || state.isAwaited && age >= DaemonLimits.commitPauseMicroseconds
            || isAsked && microsecondsToEarlyCommit(asOf: now) <= 0
        // Who has asked by now gets what they asked for.
        if isOverdue { self.commitRequestCount = commitRequestCount }
        return isOverdue
    }

    /// The same while no batch waits.
    mutating func isDue(asOf now: Instant, commitRequestCount: UInt64) -> Bool {
        guard begin != nil else { return false }
        return isOverdue(asOf: now, commitRequestCount: commitRequestCount) || state.isAwaited
            || now.microseconds(since: last) >= DaemonLimits.commitPauseMicroseconds
    }

    /// How long the writer may sleep, in milliseconds.
    func pause(asOf now: Instant) -> Int {
        guard begin != nil else { return .max }
        if state.isAwaited { return 0 }
        var microseconds = DaemonLimits.commitPauseMicroseconds
        if hasReaders { microseconds = min(microseconds, microsecondsToEarlyCommit(asOf: now)) }
        return (max(0, microseconds) + 999) / 1_000
    }

    /// How long it is until readers may cause a commit; not positive: they may.
    private func microsecondsToEarlyCommit(asOf now: Instant) -> Int {
        guard let lastCommit else { return 0 }
        return DaemonLimits.earlyCommitMicrosecondsMin - now.microseconds(since: lastCommit)
    }
}
