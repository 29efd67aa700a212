package import BlobStore

/// When bases are made, and how long they are kept.
package struct BaseSchedule: Sendable, Hashable {
    /// From one base to the next, in milliseconds.
    package var intervalMilliseconds: Int64
    /// How far back the store can be restored, in milliseconds.
    package var retentionMilliseconds: Int64

    /// A schedule: a base a day, and every moment of a week.
    package init(
        intervalMilliseconds: Int64 = 86_400_000, retentionMilliseconds: Int64 = 7 * 86_400_000
    ) {
        self.intervalMilliseconds = intervalMilliseconds
        self.retentionMilliseconds = retentionMilliseconds
    }

    /// Whether a base is due.
    ///
    /// - Parameters:
    ///   - newest: the newest one; nil: there is none, and one is due.
    ///   - packedByteCount: bytes of the packs that were made since. A base is due when a restore would read
    ///     more of them than of it.
    ///   - now: the present. A clock that was set back does not keep a base from being made for longer
    ///     than the interval.
    package func isDue(
        behind newest: BaseManifest?, packedByteCount: Int, asOf now: Timestamp
    ) -> Bool {
        guard let newest else { return true }
        let age = now.milliseconds - newest.time.milliseconds
        return age.magnitude >= intervalMilliseconds.magnitude
            || packedByteCount
                >= max(newest.byteCount, ReplicationLimits.packsPerBaseByteCountMin)
    }

    /// The base that the retention begins with: the newest one that is as old as it or older; nil where there is
    /// none, and all are kept. All newer ones are kept.
    ///
    /// A base may bear a wrong time, of a clock that was wrong when it was made, and the present may be wrong, too.
    /// So a base is as old as the bases behind it are apart, and from one to the next counts at most the interval:
    /// a clock that was set forward ends the retention of no more than that, and one that was set back ends none.
    /// What lies in the future says nothing of the others.
    ///
    /// - Parameter bases: in the order of their segments.
    package func oldestKept(of bases: [BaseManifest], asOf now: Timestamp) -> BaseManifest? {
        let past = bases.filter { $0.time <= now }
        guard var latest = past.first?.time.milliseconds else { return nil }
        // When each was made, by a clock that runs while bases are made.
        var elapsed: Int64 = 0
        func advance(to time: Timestamp) -> Int64 {
            elapsed += min(max(time.milliseconds - latest, 0), intervalMilliseconds)
            latest = max(latest, time.milliseconds)
            return elapsed
        }
        let times = past.map { advance(to: $0.time) }
        let end = advance(to: now) - retentionMilliseconds
        return times.lastIndex { $0 <= end }.map { past[$0] }
    }
}
