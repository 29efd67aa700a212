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

    /// The oldest base that is kept: the newest one that is as old as the retention or older, else the first. All
    /// newer ones are kept.
    ///
    /// - Parameter bases: in the order of their segments.
    package func oldestKept(of bases: [BaseManifest], asOf now: Timestamp) -> BaseManifest? {
        let end = now.adding(milliseconds: -retentionMilliseconds)
        return bases.last { $0.time <= end } ?? bases.first
    }
}
