import BlobStore

/// Decides when what was acknowledged and is in the log alone is committed to `data.mdb`: when
/// nothing has come for a moment, so that the next reader need not wait for it; while changes keep
/// coming, after a while, so that a commit is shared by many of them; and early for those who read
/// what is pending, but only some time after the last commit, so that readers in a loop cannot make
/// each batch a commit of its own.
struct SettlingClock {
    private var state = BlobStore.Unsettled()
    /// When the first of them was acknowledged, and the last.
    private var begin: Instant?
    private var last = Instant.now
    /// When the last commit ended; nil: there was none.
    private var lastCommit: Instant?
    private var commitCount: UInt64 = 0
    private var hurryCount: UInt64 = 0
    /// Whether connections of this daemon wait for a commit.
    var hasReaders = false

    /// Takes note of what there is after a batch, or after it was committed.
    ///
    /// - Parameter commitCount: how often what was in the log has been committed.
    mutating func note(_ state: BlobStore.Unsettled, commitCount: UInt64, asOf now: Instant) {
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
    /// - Parameter hurryCount: how often readers in other processes have asked.
    mutating func isOverdue(asOf now: Instant, hurryCount: UInt64) -> Bool {
        guard let begin else { return false }
        let isAsked = hasReaders || hurryCount != self.hurryCount
        let age = now.microseconds(since: begin)
        let isOverdue =
            age >= DaemonLimits.settlingMicrosecondsMax
            || state.isAwaited && age >= DaemonLimits.settlingPauseMicroseconds
            || isAsked && microsecondsToEarlyCommit(asOf: now) <= 0
        // Who has asked by now gets what they asked for.
        if isOverdue { self.hurryCount = hurryCount }
        return isOverdue
    }

    /// The same while no batch waits.
    mutating func isDue(asOf now: Instant, hurryCount: UInt64) -> Bool {
        guard begin != nil else { return false }
        return isOverdue(asOf: now, hurryCount: hurryCount) || state.isAwaited
            || now.microseconds(since: last) >= DaemonLimits.settlingPauseMicroseconds
    }

    /// How long the writer may sleep, in milliseconds.
    func pause(asOf now: Instant) -> Int {
        guard begin != nil else { return .max }
        if state.isAwaited { return 0 }
        var microseconds = DaemonLimits.settlingPauseMicroseconds
        if hasReaders { microseconds = min(microseconds, microsecondsToEarlyCommit(asOf: now)) }
        return (max(0, microseconds) + 999) / 1_000
    }

    /// How long it is until readers may cause a commit; not positive: they may.
    private func microsecondsToEarlyCommit(asOf now: Instant) -> Int {
        guard let lastCommit else { return 0 }
        return DaemonLimits.earlyCommitMicrosecondsMin - now.microseconds(since: lastCommit)
    }
}
