internal import BlobStore

/// Deletes bases and packs that no restore within the retention needs.
///
/// What it deletes is behind a newer base that stays, and a later look never finds an older one to be needed
/// again. So it does no harm where it wakes up after another store took over: of that store's bases and
/// packs it saw none, since a new epoch was created before them, and the epochs were read after the
/// names.
struct HistoryCollector {
    private let epoch: UInt64
    private let schedule: BaseSchedule
    /// When bases that do not count were first seen here, by their segments.
    private var unfinishedSince: [UInt64: Timestamp] = [:]

    init(epoch: UInt64, schedule: BaseSchedule) {
        self.epoch = epoch
        self.schedule = schedule
    }

    /// Deletes what may be deleted. A LIST of the bases, one of the packs and one of the epochs.
    ///
    /// - Parameters:
    ///   - saved: the last segment that this store's file knows to be its own: a start reads the log from there.
    ///   - inProgress: the segment of the base that is being made here.
    ///   - now: the present.
    /// - Returns: the oldest base that is kept, nil where there is none, and how many names were deleted.
    /// - Throws: ``ReplicationError/deposed(epoch:leader:)`` when another store leads, and nothing is deleted.
    mutating func run(
        _ catalog: inout BaseCatalog, saved: UInt64, inProgress: UInt64?,
        on bucket: some Bucket, asOf now: Timestamp
    ) throws(ReplicationError) -> (oldest: BaseManifest?, deletedCount: Int) {
        try catalog.refresh(on: bucket)
        let expired = schedule.oldestKept(of: catalog.bases, asOf: now)
        guard let oldest = expired ?? catalog.bases.first else { return (nil, 0) }
        let end = oldest.position.number
        let damaged = catalog.damaged.keys.filter { $0 < end }.sorted()
        // The retention may begin with one that cannot be read. What is behind it is kept until a good one is old
        // enough: it may have been the bucket's answer that was damaged.
        guard expired != nil || damaged.isEmpty else { return (nil, 0) }
        let old = catalog.bases.map(\.position.number).prefix { $0 < end }
        var names = (damaged + old).flatMap { catalog.names(of: $0) }
        unfinishedSince = unfinishedSince.filter { catalog.unfinished[$0.key] != nil }
        for number in catalog.unfinished.keys.sorted() where number != inProgress {
            let since = unfinishedSince[number] ?? now
            unfinishedSince[number] = since
            if now.milliseconds - since.milliseconds
                >= ReplicationLimits.unfinishedBaseMilliseconds
            {
                names += catalog.names(of: number)
            }
        }
        let ranges = try Pack.ranges(on: bucket)
        let newest = ranges.map(\.upperBound).max()
        // The newest one says where the log was packed up to.
        names += ranges.filter { $0.upperBound <= min(end, saved) && $0.upperBound != newest }
            .map(ShardNames.pack)
        guard !names.isEmpty else { return (oldest, 0) }
        try Epochs.requireNewest(epoch, on: bucket)
        try onBucket { () throws(BucketError) in
            for name in names { try bucket.delete(name) }
        }
        try catalog.refresh(on: bucket)
        return (oldest, names.count)
    }
}
