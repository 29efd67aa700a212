import BlobStore

/// Decides when what was acknowledged and is in the log alone is committed to `data.mdb`: when
/// nothing has come for a moment, so that the next reader need not wait for it; and while changes
/// keep coming, after a while, so that a commit is shared by many of them.
struct SettlingClock {
    private var state = BlobStore.Unsettled()
    /// When the first of them was acknowledged, and the last.
    private var begin: Instant?
    private var last = Instant.now
    private var hurryCount: UInt64 = 0

    /// Takes note of what there is after a batch, or after it was committed.
    mutating func note(_ state: BlobStore.Unsettled, asOf now: Instant) {
        self.state = state
        last = now
        if !state.isPending {
            begin = nil
        } else if begin == nil {
            begin = now
        }
    }

    /// Whether the next batch is to be committed with them: they are old, or somebody waits.
    ///
    /// - Parameter hurryCount: how often readers in other processes have asked.
    mutating func isOverdue(asOf now: Instant, hurryCount: UInt64) -> Bool {
        guard let begin else { return false }
        let isAsked = hurryCount != self.hurryCount
        self.hurryCount = hurryCount
        let age = now.microseconds(since: begin)
        return isAsked || age >= DaemonLimits.settlingMicrosecondsMax
            || state.isAwaited && age >= DaemonLimits.settlingPauseMicroseconds
    }

    /// The same while no batch waits.
    mutating func isDue(asOf now: Instant, hurryCount: UInt64) -> Bool {
        guard begin != nil else { return false }
        return isOverdue(asOf: now, hurryCount: hurryCount) || state.isAwaited
            || now.microseconds(since: last) >= DaemonLimits.settlingPauseMicroseconds
    }

    /// How long the writer may sleep, in milliseconds.
    var pause: Int {
        guard begin != nil else { return .max }
        return state.isAwaited ? 0 : (DaemonLimits.settlingPauseMicroseconds + 999) / 1_000
    }
}
