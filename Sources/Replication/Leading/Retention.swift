package import BlobStore

/// When bases are made, and how long they are kept.
package struct BaseSchedule: Sendable, Hashable {
    package var intervalMilliseconds: Int64
    package var retentionMilliseconds: Int64

    package init(
        intervalMilliseconds: Int64 = 86_400_000, retentionMilliseconds: Int64 = 7 * 86_400_000
    ) {
        self.intervalMilliseconds = intervalMilliseconds
        self.retentionMilliseconds = retentionMilliseconds
    }

    /// - Parameter logByteCount: bytes of the log since. A base is due when a restore would read more of them than of it.
    package func isDue(
        after newest: BaseManifest?, logByteCount: Int, asOf now: Timestamp
    ) -> Bool {
        guard let newest else { return true }
        let age = now.milliseconds - newest.time.milliseconds
        // A clock that was set back does not keep a base from being made for longer than the interval.
        return age.magnitude >= intervalMilliseconds.magnitude
            || logByteCount >= max(newest.byteCount, ReplicationLimits.logPerBaseByteCountMin)
    }

    /// The base that the retention begins with: the newest one that is as old as it or older; nil where there is
    /// none, and all are kept. All newer ones are kept.
    ///
    /// A base may bear a wrong time, of a clock that was wrong when it was made, and the present may be wrong, too.
    /// So a base is as old as the bases after it are apart, and from one to the next counts at most the interval:
    /// a clock that was set forward ends the retention of no more than that, and one that was set back ends none.
    /// What lies in the future says nothing of the others.
    package func oldestKept(of bases: [BaseManifest], asOf now: Timestamp) -> BaseManifest? {
        let past = bases.filter { $0.time <= now }
        guard var latest = past.first?.time.milliseconds else { return nil }
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

/// Deletes bases that no restore within the retention needs.
///
/// What it deletes is before a newer base that stays, and a later look never finds an older one to be needed
/// again. So it does no harm where it wakes up after another store took over: of that store's bases it saw none, since
/// whether it leads is looked at after the names were listed.
struct HistoryCollector {
    private let store: BlobStore
    private let epoch: UInt64
    private let schedule: BaseSchedule
    private var unfinishedSince: [UInt64: Timestamp] = [:]

    init(_ store: BlobStore, epoch: UInt64, schedule: BaseSchedule) {
        self.store = store
        self.epoch = epoch
        self.schedule = schedule
    }

    /// Deletes what may be deleted. A LIST of the bases, and ``LeadCheck``.
    ///
    /// - Parameter failure: see ``Bucket/delete(_:noting:)``.
    /// - Returns: which bases there are then, nil where nothing of the log and no payload may be deleted, and how many
    ///   names were deleted.
    /// - Throws: ``ReplicationError/deposed(epoch:leader:)`` when another store leads, and nothing is deleted.
    mutating func run(
        _ catalog: inout BaseCatalog, inProgress: UInt64?,
        on bucket: some Bucket, asOf now: Timestamp, noting failure: inout (any Error)?
    ) throws(ReplicationError) -> (kept: KeptBases?, deletedCount: Int) {
        try catalog.refresh(on: bucket)
        let expired = schedule.oldestKept(of: catalog.bases, asOf: now)
        guard let oldest = expired ?? catalog.bases.first else { return (nil, 0) }
        let end = oldest.position.number
        let damaged = catalog.damaged.keys.filter { $0 < end }.sorted()
        // The retention may begin with one that cannot be read. What is after it is kept until a good one is old
        // enough: it may have been the bucket's answer that was damaged.
        guard expired != nil || damaged.isEmpty else { return (nil, 0) }
        let old = catalog.bases.map(\.position.number).prefix { $0 < end }
        // A base counts with its manifest alone: while that is there it keeps its parts.
        var groups = (damaged + old).map { catalog.names(of: $0) }
        unfinishedSince = unfinishedSince.filter { catalog.unfinished[$0.key] != nil }
        for number in catalog.unfinished.keys.sorted() where number != inProgress {
            let since = unfinishedSince[number] ?? now
            unfinishedSince[number] = since
            if now.milliseconds - since.milliseconds
                >= ReplicationLimits.unfinishedBaseMilliseconds
            {
                groups.append(catalog.names(of: number))
            }
        }
        var deletedCount = 0
        if !groups.isEmpty {
            try LeadCheck.require(epoch, of: store, on: bucket)
            deletedCount = try bucket.delete(groups, noting: &failure).count
            try catalog.refresh(on: bucket)
        }
        // Of one that could be neither read nor deleted nobody knows what it has.
        guard !catalog.damaged.keys.contains(where: { $0 < end }) else {
            return (nil, deletedCount)
        }
        let undeleted = catalog.bases.filter { $0.position.number < end }
        return (
            KeptBases(undeleted: undeleted, oldest: oldest, newest: catalog.bases.last ?? oldest),
            deletedCount
        )
    }
}

/// The bases that a bucket has after what nobody needs any more was deleted.
package struct KeptBases {
    /// Those before the retention whose manifests could not be deleted: a restore may begin with them.
    package var undeleted: [BaseManifest] = []
    /// The one that the retention begins with.
    package var oldest: BaseManifest
    /// All that it has was shipped.
    package var newest: BaseManifest

    package init(undeleted: [BaseManifest] = [], oldest: BaseManifest, newest: BaseManifest) {
        self.undeleted = undeleted
        self.oldest = oldest
        self.newest = newest
    }

    /// The first of them: what was retired up to its batch none of them has, and segments up to its own none needs.
    package var first: BaseManifest { undeleted.first ?? oldest }

    /// Numbers of the long blobs whose objects are needed, of those that a store knows, in order: what segments after the
    /// oldest one name, and what each one before has.
    func blobNumbers(of store: BlobStore) throws -> [UInt64] {
        let numbers = try store.longBlobNumbers(retiredAfter: oldest.sequence)
        guard !undeleted.isEmpty else { return numbers }
        var all = Set(numbers)
        for base in undeleted {
            let numbers = try store.longBlobNumbers(retiredAfter: base.sequence)
            all.formUnion(numbers.prefix { $0 < base.nextBlobNumber })
        }
        return all.sorted()
    }
}
